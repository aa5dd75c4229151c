"""`python -m bobstay` is `bobstay`."""

from bobstay.cli.main import main

main()
