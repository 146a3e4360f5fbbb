# %%
import os
import signal

# %%
def stop_everything():
    os.kill(os.getpid(), signal.SIGKILL)

# %%
stop_everything()  # <-- dies in this cell
