"""The one error of the contract: something that one side said and the other can't accept.

It carries the path of the field in JSON, because whoever reads it has the JSON before them and not the code.
"""


class ContractError(ValueError):
    """An envelope or a result that breaks the contract.

    Attributes:
        path: where in the JSON, as ``payload.repository.url``; empty for the document as a whole.
        problem: what is wrong there.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem
