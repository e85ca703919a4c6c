"""Command lines of attnledger, run by one process of commands.c for each thread: to start the program takes longer than
most of them do."""
import os
import subprocess
import threading

QUIET = {'OMP_WAIT_POLICY': 'passive', 'OPENBLAS_NUM_THREADS': '1'}  # threads that wait don't spin, as the program has them

running = threading.local()
processes = []


def answer(program, *words):
    """Its exit status, and what it answers and says"""
    if not hasattr(running, 'process'):
        running.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                           env={**os.environ, **QUIET})
        processes.append(running.process)
    print(*words, file=running.process.stdin, flush=True)
    said = []
    for line in running.process.stdout:
        if line.startswith('exit '):
            return int(line.split()[1]), ''.join(said)[:-1]  # commands.c ends a line before
        said.append(line)
    return -1, ''.join(said)


def run(program, *words):
    """What it says where it fails; None where it doesn't"""
    status, said = answer(program, *words)
    return said.strip() or 'no answer' if status else None


def end():
    """Do all processes end as they should?"""
    for process in processes:
        process.stdin.close()
    return not any(process.wait() for process in processes)
