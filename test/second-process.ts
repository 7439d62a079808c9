// A second Node process, for tests of locks, crashes and full disks.
//   await using other = startProcess(`const { openState } = await load('server/storage/open.ts'); print('open')`)
//   assert.equal(await other.line(), 'open')
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const root = new URL('..', import.meta.url)
const prelude = `
  const load = (path) => import(new URL(path, ${JSON.stringify(root.href)}))
  const print = (line) => process.stdout.write(line + '\\n')
  const stay = () => setInterval(() => {}, 1000)
`

export interface OtherProcess extends AsyncDisposable {
  /** The next line of its output; undefined after its end. */
  line(): Promise<string | undefined>
  /** Kills it without warning. */
  kill(): Promise<void>
}

/**
 * Runs an ES module that may use `load(path from the root)`, `print(line)` and `stay()`. `under` precedes the node
 * command.
 */
export function startProcess(code: string, under: readonly string[] = []): OtherProcess {
  const node = [process.execPath, '--input-type=module', '--eval', prelude + code]
  const [command = '', ...args] = [...under, ...node]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    line: async () => (await lines.next()).value,
    kill: () => end(child),
    [Symbol.asyncDispose]: () => end(child),
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
