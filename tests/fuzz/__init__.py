"""The differential fuzzer of the permission policy: allowed commands are run in a sandbox and must do no harm."""
