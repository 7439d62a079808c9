import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { Settings } from '#runtime/settings.ts'
import { startStandaloneSimulator } from '#simulator/standalone.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { commandEnv, launcher, openFolder, runCommand } from '#test/run-command.ts'

test('the command prints a configuration that passes all checks, and stops with exit code 0', async () => {
  await using home = await openFolder()
  const child = spawn(process.execPath, [launcher, 'simulator', '--json'], {
    cwd: home.dir,
    env: { ...commandEnv(), HOME: home.dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    // JSON is valid YAML.
    await writeFile(`${home.dir}/tetrad.yaml`, line)
    const { stdout } = await runCommand(['doctor', '--json', '--sample', '0'], { cwd: home.dir })
    const { findings } = JSON.parse(stdout) as { findings: { name: string; level: string }[] }
    for (const name of ['node of chain 1', 'rates demo-north', 'rates demo-south', 'beacon mainnet', 'feed demo'])
      assert.equal(findings.find((finding) => finding.name === name)?.level, 'ok', stdout)
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  } finally {
    child.kill('SIGKILL')
  }
})

test('the chain of the simulated node grows with the clock', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 16, 12))
  await using simulator = await startStandaloneSimulator(clock)
  const { explorer } = simulator.settings as Settings
  const head = async () => {
    const reply = await fetch(explorer.chains[0]?.rpc[0]?.url ?? '', {
      method: 'POST',
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
    })
    return Number(((await reply.json()) as { result: string }).result)
  }
  const before = await head()
  clock.advance(36_000)
  assert.equal(await head(), before + 3)
})
