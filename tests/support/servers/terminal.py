# Runs a program in a terminal of its own, as the shell of a person would. Passes standard input on as keys, and the screen to standard output.
import os, pty, select, sys

pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
inputs = [screen, 0]
while True:
    for ready in select.select(inputs, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:
            # The program has ended, and all that used the terminal.
            data = b""
        if data and ready == screen:
            os.write(1, data)
        elif data:
            os.write(screen, data)
        elif ready == 0:
            inputs.remove(0)
        else:
            _, status = os.waitpid(pid, 0)
            sys.exit(os.waitstatus_to_exitcode(status) & 255)
