"""``python -m stallkit`` is the command ``stallkit``."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working directory: nothing is imported from there
    from stallkit.cli.main import main

    main()
