std = 'luajit'
globals = { 'vim' }
max_line_length = 140
-- Generated, and all comments.
files['lua/outrigger/wire.lua'] = { max_line_length = false }
-- Handlers and callbacks take what they are given.
unused_args = false
