import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { ManualClock } from '#test/manual-clock.ts'
import { commandEnv, launcher, openFolder } from '#test/run-command.ts'
import { withActivity } from './progress.ts'

function screen(isTTY: boolean) {
  const written: string[] = []
  return { written, stream: { isTTY, write: (text: string) => written.push(text) > 0 } }
}
const erase = '\r\u001b[2K'

test('on a terminal, an activity is shown at once, then with its time, and removed at the end', async () => {
  const clock = new ManualClock(0)
  const { written, stream } = screen(true)
  const result = await withActivity(
    'Copying',
    async (show) => {
      clock.advance(3000)
      show('Verifying')
      return 7
    },
    { clock, stream },
  )
  assert.equal(result, 7)
  assert.deepEqual(written, [
    `${erase}Copying …`,
    `${erase}Copying … 1 s`,
    `${erase}Copying … 2 s`,
    `${erase}Copying … 3 s`,
    `${erase}Verifying …`,
    erase,
  ])
  clock.advance(60_000)
  assert.equal(written.length, 6)
})

test('elsewhere, only an activity of ten seconds or more writes a line', async () => {
  const clock = new ManualClock(0)
  const { written, stream } = screen(false)
  await withActivity('Copying', async () => clock.advance(9000), { clock, stream })
  assert.deepEqual(written, [])
  await withActivity('Copying', async () => clock.advance(25_000), { clock, stream })
  assert.deepEqual(written, ['Copying … 10 s\n', 'Copying … 20 s\n'])
})

test('an activity that fails is removed, and nothing is shown for a script', async () => {
  const clock = new ManualClock(0)
  const { written, stream } = screen(true)
  await assert.rejects(
    withActivity('Copying', () => Promise.reject(new Error('full')), { clock, stream }),
    /full/,
  )
  assert.equal(written.at(-1), erase)
  written.length = 0
  await withActivity('Copying', async () => clock.advance(60_000), { clock, stream, quiet: true })
  assert.deepEqual(written, [])
})

const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

describe('on a terminal', { skip: !hasTerminal && 'the program `script` of util-linux is not installed' }, () => {
  /** What a command shows on a terminal. */
  async function shown(command: string, dir: string): Promise<string> {
    const line = `'${process.execPath}' '${launcher}' ${command}`
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      ...{ cwd: dir, env: commandEnv() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return text(child.stdout)
  }

  test('commands that wait for a server or write many records show what they do', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'pools.csv'), 'index,pool\n1,Harbour\n')
    assert.match(await shown('import entities pools.csv', home.dir), /\r\u001b\[2KImporting pools\.csv …/)
    const asked = await shown('ask markets.bySlug --slug x --url http://127.0.0.1:9', home.dir)
    assert.match(asked, /\r\u001b\[2KWaiting for http:\/\/127\.0\.0\.1:9 …/)
  })
})
