// Runs Tetrad as its users do: the command line, a configuration file, a data folder.
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, freePort, launch, withParent } from '../programs.ts'
import { launcher, runChild } from '../run-command.ts'
import { getJson } from './calls.ts'

export interface Stream {
  readonly name: string
  readonly from: number | null
  readonly until: number | null
  readonly gapsCount: number
  readonly status: string
}

export interface RunningTetrad {
  readonly url: string
  readonly folder: string
  readonly key: string
  readonly start: () => Promise<void>
  /** Without warning. */
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly streams: () => Promise<readonly Stream[]>
  /** The rows that `tetrad fundings` writes. */
  readonly findFundings: (chain: number, addresses: readonly string[]) => Promise<readonly FundingRow[]>
}

export interface FundingRow {
  readonly address: string
  readonly status: string
  readonly block: string | number | null
  readonly funder: string | null
  readonly tx: string | null
  readonly value_wei: string | null
  readonly reason: string | null
}

/** Every command must succeed, unless `codes` has another exit code. */
export async function runTetrad(cwd: string, args: readonly string[], codes: readonly number[] = [0]): Promise<string> {
  const { code, stdout, stderr } = await runChild(args, { cwd })
  if (!codes.includes(Number(code))) throw new Error(`tetrad ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

/** `settings`: the text of a configuration file, or an object. */
export async function openTetrad(folder: string, settings: string | object): Promise<RunningTetrad> {
  await mkdir(folder, { recursive: true })
  const port = await freePort()
  const config = join(folder, 'tetrad.yaml')
  writeFileSync(
    config,
    typeof settings === 'string' ? settings : JSON.stringify({ ...settings, store: { dir: 'data' } }),
  )
  const command = [...withParent, process.execPath, launcher, 'serve', '--port', String(port)]
  const begin = () => launch({ cwd: folder, command, ready: port })
  const child = { current: await begin() }
  const created = await runTetrad(folder, ['keys', 'create', '--name', 'test', '--plan', 'enterprise', '--json'])
  const url = `http://127.0.0.1:${port}`
  let files = 0
  return {
    ...{ url, folder, key: (JSON.parse(created) as { readonly key: string }).key },
    async start() {
      child.current = await begin()
    },
    kill: () => end(child.current),
    stop: () => end(child.current, 'SIGTERM'),
    streams: async () => (await getJson<{ readonly streams: readonly Stream[] }>(url, '/coverage')).streams,
    async findFundings(chain, addresses) {
      const [input, output] = ['in', 'out'].map((name) => join(folder, `${name}-${files}.ndjson`)) as [string, string]
      files += 1
      writeFileSync(input, addresses.join('\n'))
      const options = ['--chain', String(chain), '--in', input, '--out', output, '--format', 'ndjson']
      await runTetrad(folder, ['fundings', ...options], [0, 3])
      return readFileSync(output, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as FundingRow)
    },
  }
}

/** `until`: the end of what was read without a gap. */
export async function waitForCoverage(
  server: RunningTetrad,
  name: string,
  until: number,
  limitMs = 300_000,
): Promise<{ readonly from: number; readonly until: number }> {
  const endMs = performance.now() + limitMs
  for (;;) {
    const stream = (await server.streams()).find((stream) => stream.name === name)
    if (stream && stream.gapsCount === 0 && (stream.until ?? 0) >= until)
      return { from: stream.from as number, until: stream.until as number }
    if (performance.now() > endMs) throw new Error(`${name} has not reached ${until}: ${JSON.stringify(stream)}`)
    await sleep(1000)
  }
}
