"""A rank that takes ten steps a second and does nothing in them."""

import time

import headway as hw

hw.init()
for _ in hw.steps(range(100_000)):
    time.sleep(0.1)
