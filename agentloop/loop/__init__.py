"""The loop column: `run.py` is the machine, `drive.py` and `drive_async.py` its two drivers."""
