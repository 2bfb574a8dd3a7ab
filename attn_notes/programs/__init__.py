"""A torch function as a program that a page runs, without torch and without a server.

`export` traces a function of named tensors once, takes what torch does apart into loops and matrix
products over one array, and writes them as an ES module:

>>> import torch
>>> from attn_notes import programs
>>> def attend(tensors):
...     scores = tensors["queries"] @ tensors["keys"].T
...     return {"attention": scores.softmax(-1)}
>>> examples = {"queries": torch.zeros(3, 2), "keys": torch.zeros(5, 2)}
>>> program = programs.export(attend, examples)
>>> program.outputs["attention"].shape
(3, 5)

A page imports that module, puts numbers into the array and runs it as often as it likes:

    const { size, inputs, outputs, make } = await import(url);
    const H = new Float32Array(size);          // or Float64Array
    const run = make(H);
    H.set(queries, inputs.queries[0]);         // where it starts; inputs.queries[1] is its shape
    H.set(keys, inputs.keys[0]);
    run();
    const attention = H.subarray(outputs.attention[0], outputs.attention[0] + 15);

A run leaves its inputs as they are. `make(H, { exp, product, sigmoid })` takes another exponential,
and faster functions for large products and long rows: `vectors.js`, beside this file, has these,
and `program.js` the exponential and an optimiser; `trainer.js` trains in a Worker. `Program.save`
writes a folder with all of it, and a page that trains a step as it is.

What the examples say is their shapes and dtypes; no number of theirs is in the program. The
function is traced with tensors that have none, so a shape or a branch that depends on numbers is
refused: `nonzero`, a mask as an index, `.item()`, `if x.sum() > 0`. So is a tensor that an earlier
call made of its inputs and the function kept; a state that goes from call to call is a buffer. What
the function itself makes, a mask or a table of positions, is in the program: up to `constants.MOST`
numbers of it, more is refused, as are random numbers and trained tensors that are not inputs. A
refusal names the operation and the line of the model. `training.step` is such a function: the
gradient of a model's loss.

A program computes in the precision of its array: `.float()` and `.double()` change nothing in it.
Half precision, bytes and other narrow dtypes would round or wrap around, and are refused.
"""

from attn_notes.programs.decompositions import UnknownOperationError
from attn_notes.programs.program import Program, Slot, export

__all__ = ["Program", "Slot", "UnknownOperationError", "export"]
