"""Connects from a thread that torch's libraries had before the filter."""
#: ends PermissionError: .Errno 1.
#: in call

import socket
import threading

import torch

# control:
torch.ones(1)
# attack:
torch.set_num_threads(2)
torch.ones(999, 999) @ torch.ones(999, 999)
caught = []


def attempt():
    try:
        socket.socket()
    except OSError as error:
        caught.append(error)


thread = threading.Thread(target=attempt)
thread.start()
thread.join()
raise caught[0]
