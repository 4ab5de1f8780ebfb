"""Why something was refused: a code of spec/errors.md, and where."""


class Refused(Exception):
    def __init__(self, code, path="", why=""):
        super().__init__(code, path, why)
        self.code, self.path, self.why = code, path, why

    def within(self, outer):
        """The same, seen from the structure or array that holds the place."""
        dot = "." if self.path and not self.path.startswith("[") else ""
        return Refused(self.code, outer + dot + self.path, self.why)

    def __str__(self):
        return self.code + (f" at {self.path}" if self.path else "") + (f": {self.why}" if self.why else "")
