"""``python -m stallkit`` is the command ``stallkit``."""

from stallkit.cli.main import main

if __name__ == "__main__":
    main()
