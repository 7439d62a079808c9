// Builds geth and Prysm from the Go module proxy, once, into a cache outside the project.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { isInstalled } from '../programs.ts'

export const gethVersion = '1.17.8'
export const prysmVersion = '7.1.2'
const prysmModule = 'github.com/OffchainLabs/prysm/v7'
/** Replacements do not apply to dependencies, so those of Prysm are repeated. The second one is in no proxy as Prysm names it. */
const replaced = [
  'github.com/json-iterator/go => github.com/prestonvanloon/go v1.1.7-0.20190722034630-4f2e55fcf87b',
  'github.com/quic-go/quic-go => github.com/quic-go/quic-go v0.49.1',
]
const buildMsMax = 3_600_000

export interface NodePrograms {
  readonly geth: string
  readonly beaconChain: string
  readonly validator: string
}

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tetrad-test-nodes')

export async function buildNodes(): Promise<NodePrograms> {
  const geth = join(cache, `geth-${gethVersion}`)
  const prysm = join(cache, `prysm-${prysmVersion}`)
  await buildUnlessCached(geth, tmpdir(), [`github.com/ethereum/go-ethereum/cmd/geth@v${gethVersion}`])
  if (!existsSync(prysm)) {
    const wrapper = await mkdtemp(join(tmpdir(), 'tetrad-prysm-'))
    try {
      await writeWrapper(wrapper)
      await buildUnlessCached(
        prysm,
        wrapper,
        ['beacon-chain', 'validator'].map((name) => `${prysmModule}/cmd/${name}`),
        '-mod=mod',
      )
    } finally {
      await rm(wrapper, { recursive: true, force: true })
    }
  }
  return { geth: join(geth, 'geth'), beaconChain: join(prysm, 'beacon-chain'), validator: join(prysm, 'validator') }
}

/** The folder appears when the build is complete. */
async function buildUnlessCached(
  folder: string,
  cwd: string,
  packages: readonly string[],
  ...options: readonly string[]
): Promise<void> {
  if (existsSync(folder)) return
  process.stdout.write(`Building ${packages.join(', ')} (minutes)\n`)
  await mkdir(dirname(folder), { recursive: true })
  const unfinished = await mkdtemp(`${folder}-`)
  await runGo(cwd, ['install', ...options, ...packages], { GOBIN: unfinished })
  await rename(unfinished, folder)
}

/** Prysm replaces modules, so `go install module@version` refuses it. A module with the same requirements does not. */
async function writeWrapper(folder: string): Promise<void> {
  const { stdout } = await runGo(folder, ['mod', 'download', '-json', `${prysmModule}@v${prysmVersion}`])
  const { Dir: source } = JSON.parse(stdout) as { readonly Dir: string }
  const requirements = (await readFile(join(source, 'go.mod'), 'utf8'))
    .split('\n')
    .filter((line) => !/^(module|replace) /.test(line))
  const lines = [
    'module tetrad-test-nodes',
    ...requirements,
    `require ${prysmModule} v${prysmVersion}`,
    ...replaced.map((line) => `replace ${line}`),
  ]
  await writeFile(join(folder, 'go.mod'), `${lines.join('\n')}\n`)
  await writeFile(join(folder, 'go.sum'), await readFile(join(source, 'go.sum')))
}

function runGo(cwd: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  if (!isInstalled('go', 'version'))
    throw new Error(
      'Go is not installed. It is needed to build geth and Prysm for the tests with real nodes, and for nothing else. ' +
        'Install it (https://go.dev/dl), or run the other tests: npm test',
    )
  const env = { ...process.env, GOFLAGS: '-buildvcs=false', GOTOOLCHAIN: 'local', ...more }
  return promisify(execFile)('nice', ['-n', '10', 'go', ...args], {
    ...{ cwd, env, timeout: buildMsMax, maxBuffer: 64 * 2 ** 20 },
  })
}
