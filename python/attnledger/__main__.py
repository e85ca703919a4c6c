"""python -m attnledger: the program itself."""
import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).with_name("attnledger")
    os.execv(program, ["attnledger", *sys.argv[1:]])


if __name__ == "__main__":
    main()
