// Data folders that tests copy instead of creating their own: empty databases after migration, and demo data. Run as a
// program, it creates the demo data before the tests, so that no two tests do so at the same time. It then sends the
// addresses of the nodes from which it read the data, and keeps them open until it is disconnected (demo-nodes.ts).
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { complete } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { createContext } from '#server/context.ts'
import { demoSeed } from '#simulator/demo-seed.ts'
import type { DemoNodes, NodeUrls } from '#simulator/nodes.ts'
import { dutiesMigrations, ingestFileMigrations, stateFileMigrations } from '#storage/migrations.ts'
import { openStores } from '#storage/open.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { totalCpuMs } from './cpu-time.ts'

/** The folder that all processes of a test run share; test/run.ts sets it. */
const sharedDir = process.env.TEST_SHARED_DIR ?? tmpdir()

/** Part of the name of a template, so that changed tables get a new one. */
const schemaHash = createHash('sha256')
  .update(
    JSON.stringify(
      [...stateFileMigrations, ...ingestFileMigrations, ...dutiesMigrations].map(({ up }) =>
        up({ bytes: 'blob', strict: 'strict', clustered: 'strict, without rowid' }),
      ),
    ),
  )
  .digest('hex')
  .slice(0, 16)

type StoreFile = 'state.sqlite' | 'ingest.sqlite' | 'duties.sqlite'

/** Copies empty databases, already migrated, into a folder. */
export const copyEmptyStores = async (dir: string, ...files: readonly StoreFile[]): Promise<void> =>
  copyTemplate(`tables-${schemaHash}`, dir, files, async (target) => (await openStores(target)).close())

/** Copies the databases of a stopped demo server into a folder. */
export const copyDemo = async (dir: string): Promise<void> =>
  copyTemplate(demoName, dir, [], (target) => createDemo(target))

/** Part of the name of a template whose content a later run may not use. */
export const runName = process.env.TEST_SHARED_DIR ? 'run' : String(process.pid)

/** What the program sends. */
export interface DemoReady {
  readonly urls: NodeUrls
  readonly cpuMs: number
}

const demoName = `demo-${schemaHash}-${runName}`

const templates = new Map<string, Promise<string>>()

async function copyTemplate(
  name: string,
  dir: string,
  files: readonly string[],
  make: (dir: string) => Promise<void>,
): Promise<void> {
  const template = await templateOf(name, make)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (const file of files.length > 0 ? files : readdirSync(template)) {
    copyFileSync(join(template, file), join(dir, file))
  }
}

/** Returns a folder that `make` fills once for all processes of a test run. */
export function templateOf(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  let template = templates.get(name)
  if (!template) {
    template = createTemplate(name, make)
    templates.set(name, template)
  }
  return template
}

async function createTemplate(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const dir = join(sharedDir, `tetrad-template-${name}`)
  if (existsSync(dir)) return dir
  const draft = mkdtempSync(`${dir}-`)
  await make(draft)
  try {
    renameSync(draft, dir)
  } catch {
    // Another process was first.
    rmSync(draft, { recursive: true, force: true })
  }
  return dir
}

async function createDemo(dir: string, nodes?: DemoNodes): Promise<void> {
  const { startDemo } = await import('#simulator/demo.ts')
  const demo = await startDemo(nodes)
  const stores = await openStores(dir)
  try {
    const settings = complete(SettingsSchema, demo.settings).value
    const parts = { settings, clock: systemClock, random: systemRandom, log: silentLog }
    await demo.load(createContext({ ...stores, duties: dutiesOnThisThread(stores.duties), ...parts }))
  } finally {
    await stores.close()
    await demo.close()
  }
}

if (import.meta.main) {
  const { openNodesThread } = await import('#simulator/open-nodes-thread.ts')
  const nodes = openNodesThread(demoSeed)
  await templateOf(demoName, (dir) => createDemo(dir, { ...nodes, [Symbol.asyncDispose]: async () => {} }))
  process.once('disconnect', () => process.exit())
  process.send?.({ urls: await nodes.urls(), cpuMs: totalCpuMs() } satisfies DemoReady)
}
