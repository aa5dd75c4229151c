"""The differential fuzzer of the permission policy: what it allows is run in a sandbox and must harm nothing."""
