"""What the file tools share: places, contents, matching, patches and safe replacement."""
