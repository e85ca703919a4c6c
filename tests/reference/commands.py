"""Command lines of attnledger whose answers are files, run by one process of commands.c for each thread: to start the program
takes longer than most of them do."""
import os
import subprocess
import threading

QUIET = {'OMP_WAIT_POLICY': 'passive', 'OPENBLAS_NUM_THREADS': '1'}  # threads that wait don't spin, as the program has them

running = threading.local()
processes = []


def run(program, *words):
    """What it says where it fails; None where it doesn't"""
    if not hasattr(running, 'process'):
        running.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                           env={**os.environ, **QUIET})
        processes.append(running.process)
    print(*words, file=running.process.stdin, flush=True)
    said = []
    for line in running.process.stdout:
        if line == 'exit 0\n':
            return None
        if line.startswith('exit '):
            break
        said.append(line)
    return ''.join(said).strip() or 'no answer'


def end():
    """Do all processes end as they should?"""
    for process in processes:
        process.stdin.close()
    return not any(process.wait() for process in processes)
