std = 'luajit'
globals = { 'vim' }
max_line_length = 140
-- Handlers and callbacks take what they are given.
unused_args = false
