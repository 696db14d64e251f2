"""The command line `holocron`: one module a group of commands, loaded when it is called."""
