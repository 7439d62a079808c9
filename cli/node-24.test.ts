// Starts a server and runs commands on the oldest Node that Tetrad supports. The long run repeats all tests of commands
// on it (test/run.ts).
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { node24, noNode24 } from '#test/node-24.ts'
import { readPrintedCalls } from '#test/printed-calls.ts'
import { commandEnv, openFolder, runChild } from '#test/run-command.ts'

const launcher = join(import.meta.dirname, 'tetrad.js')

async function startDemo(dir: string): Promise<{ child: ChildProcess; printed: string }> {
  const args = [launcher, 'serve', '--data', join(dir, 'data'), '--port', '0']
  const child = spawn(node24, args, { cwd: dir, env: commandEnv(), stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  // Keep the pipe open: the server prints more, and would end if it cannot.
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk
    if (printed.includes('Stop with Ctrl-C')) break
  }
  child.stdout.resume()
  return { child, printed }
}

describe('on Node 24', { skip: noNode24 }, () => {
  test('a server starts, its eight endpoints respond, and it stops', async () => {
    await using home = await openFolder()
    const { child, printed } = await startDemo(home.dir)
    try {
      const statuses = []
      for (const call of readPrintedCalls(printed)) {
        const response = await fetch(call)
        statuses.push(response.status)
        await response.text()
      }
      assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 200, 200])
    } finally {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
    }
  })

  test('commands create a key, import labels, list them and make a backup', async () => {
    await using home = await openFolder()
    const data = ['--data', join(home.dir, 'data')]
    const file = join(home.dir, 'labels.csv')
    await writeFile(file, 'address,name\n0x1111111111111111111111111111111111111111,Harbour\n')
    const commands = [
      ['keys', 'create', '--name', 'desk', '--plan', 'free', '--groups', 'explorer'],
      ['labels', 'import', file, '--chain', '1'],
      ['labels', 'export', '--chain', '1'],
      ['backup', join(home.dir, 'copy')],
    ]
    const results = []
    for (const command of commands) results.push(await runChild([...command, ...data], { cwd: home.dir, node: node24 }))
    assert.deepEqual(
      results.map(({ code, stderr }) => [code, code === 0 ? '' : stderr]),
      commands.map(() => [0, '']),
    )
    assert.match(results[2]?.stdout ?? '', /Harbour/)
  })
})
