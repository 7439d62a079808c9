// A process that runs commands one after another, so that the program is loaded only once (`runCommand` in
// run-command.ts). Each command has its own folder, environment and output.

import { main } from '#cli/main.ts'
import type { CommandResult } from './run-command.ts'

interface Command {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

type Written = string | Uint8Array

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

process.on('message', async (command: Command) => {
  process.send?.(await runCommand(command))
})
process.on('disconnect', () => process.exit())

async function runCommand({ args, cwd, env }: Command): Promise<CommandResult> {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.exitCode = undefined
  const stdout = capture(process.stdout)
  const stderr = capture(process.stderr)
  try {
    await main(args)
  } finally {
    // Commands add listeners and never remove them.
    process.stdout.removeAllListeners('error')
    for (const signal of signals) process.removeAllListeners(signal)
  }
  return { code: process.exitCode ?? 0, stdout: stdout.end(), stderr: stderr.end() }
}

function capture(stream: NodeJS.WriteStream): { end(): string } {
  const { write } = stream
  const chunks: Buffer[] = []
  stream.write = (chunk: Written, encoding?: unknown, done?: unknown): boolean => {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk))
    const callback = typeof encoding === 'function' ? encoding : done
    if (typeof callback === 'function') process.nextTick(callback)
    return true
  }
  return {
    end() {
      stream.write = write
      return Buffer.concat(chunks).toString()
    },
  }
}
