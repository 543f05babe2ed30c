"""Serves the small real model on loopback: serve.py MODEL PORT TEMPLATE KEY. One thread: the machine is shared."""

import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], 4096, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.hostnames, params.port, params.use_jinja = ["127.0.0.1"], int(sys.argv[2]), True
params.ui = False
params.endpoint_slots = True
params.chat_template = open(sys.argv[3], encoding="utf-8").read()
params.api_keys = [sys.argv[4]]
server = xllamacpp.Server(params)
print("READY", server.listening_address, flush=True)
while True:
    time.sleep(3600)
