// Runs whole programs: the other half of tests/replay/test_replay.py. Follows the script of the kernels.
const arrays = (recorded) => Object.fromEntries(Object.entries(recorded).map(([name, x]) => [name, tensor(x.values, x.dtype, x.shape)]));
const shown = (x) => ({ shape: x.shape, values: Array.from(flat(x), (v) => (Number.isFinite(v) ? v : String(v))) });
const main = (jobs) =>
  jobs.map(({ program, inputs, tensors }) => {
    try {
      const values = runProgram(program, arrays(inputs), arrays(tensors));
      return { values: Object.fromEntries(Object.entries(values).map(([port, x]) => [port, shown(x)])) };
    } catch (error) {
      return { error: String(error.stack) };
    }
  });
