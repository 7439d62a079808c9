// Kills an ingesting process before or after a commit and continues in another one. The responses of group C must equal
// those of an uninterrupted run.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import {
  type Answers,
  assertSameAnswers,
  collectAnswers,
  openOracleNode,
  oracleFinalized,
  oracleSettings,
} from './ingest-oracle.ts'
import { ingestAll } from './killed-ingest.ts'
import { seedsOf } from './long.ts'
import { openQuietServer } from './quiet-server.ts'
import { copyEmptyStores } from './template.ts'

const seedsCount = 100
const seedsPerRun = 1
const killsMax = 2
const childFile = join(import.meta.dirname, 'killed-ingest.ts')

async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-killed-'))
  await copyEmptyStores(dir)
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

/** Returns the signal or the exit code of the process. */
async function ingestInChild(dir: string, url: string, killAt: number): Promise<number | string> {
  const child = spawn(process.execPath, [childFile, dir, url, String(killAt)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  return signal ?? code
}

for (const forks of ['fulu', 'gloas'] as const) {
  describe(`ingest of a chain of ${forks} that is killed`, () => {
    let node: SimulatedBeaconNode
    let clean: Answers
    let points: number
    /** Increases with every request for it, so that epochs are written one by one. */
    let finalized = 0

    const answersIn = async (dir: string) => {
      await using server = await openQuietServer({ settings: oracleSettings(node.url), dir })
      return await collectAnswers(server)
    }

    before(async () => {
      node = await openOracleNode({ finalized: () => Math.min(finalized++, oracleFinalized) }, forks)
      await using folder = await openFolder()
      points = await ingestAll(folder.dir, node.url)
      clean = await answersIn(folder.dir)
    })
    after(() => node[Symbol.asyncDispose]())

    test('a run has enough commit points', () => {
      assert(points > 12, String(points))
    })

    for (const seed of seedsOf(seedsCount, seedsPerRun)) {
      test(`seed ${seed}: responses equal those of a clean run`, async (t) => {
        const draws = createSeededRandom(`killed/${forks}/${seed}`)
        await using folder = await openFolder()
        finalized = 0
        const kills = draws.whole(1, killsMax + 1)
        for (let kill = 0; kill < kills; kill++) {
          // Later processes have less to do and may finish before they are killed.
          const killAt = draws.whole(1, kill === 0 ? points : Math.ceil(points / 2))
          const ended = await ingestInChild(folder.dir, node.url, killAt)
          t.diagnostic(`commit point ${killAt} of ${points}: ${ended}`)
          assert(ended === 'SIGKILL' || (kill > 0 && ended === 0), `the process ended with ${ended}`)
        }
        await ingestAll(folder.dir, node.url)
        assertSameAnswers(await answersIn(folder.dir), clean, `${kills} kills`)
      })
    }
  })
}
