"""Starts worker processes of its own."""

import multiprocessing

import world

# control:
open(world.own).close()
# attack:
multiprocessing.get_context("fork").Process(target=print).start()
