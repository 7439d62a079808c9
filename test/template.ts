// Data folders that tests copy instead of making each anew: migrated, empty stores, and the demo world.
// Run as a program, it makes the demo world ahead of the tests, so that no two of them make it at the same time.
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
import { dutiesMigrations, stateMigrations } from '#storage/migrations.ts'
import { openStores } from '#storage/open.ts'
import { dutiesHere } from '#validators/duties/store.ts'

/** All processes of a test run share templates; test/run.ts names the folder. */
const sharedDir = process.env.TEST_SHARED_DIR ?? tmpdir()

/** A template of other tables has another name. */
const versionOfTables = createHash('sha256')
  .update(
    JSON.stringify(
      [...stateMigrations, ...dutiesMigrations].map(({ up }) =>
        up({ bytes: 'blob', strict: 'strict', clustered: 'strict, without rowid' }),
      ),
    ),
  )
  .digest('hex')
  .slice(0, 16)

type StoreFile = 'state.sqlite' | 'duties.sqlite'

/** Puts migrated, empty stores into a folder; `openStores` then has nothing left to migrate. */
export const copyEmptyStores = async (dir: string, ...files: readonly StoreFile[]): Promise<void> =>
  copyTemplate(`tables-${versionOfTables}`, dir, files, async (made) => (await openStores(made)).close())

/** Puts the demo world into a folder, as a server that was stopped would leave it. */
export const copyDemo = async (dir: string): Promise<void> => copyTemplate(demoName, dir, [], makeDemo)

const demoName = `demo-${versionOfTables}-${process.env.TEST_SHARED_DIR ? 'run' : process.pid}`

const ready = new Map<string, Promise<string>>()

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

/** The folder that `make` has filled, once for all processes of a test run. */
export function templateOf(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  let making = ready.get(name)
  if (!making) {
    making = makeTemplate(name, make)
    ready.set(name, making)
  }
  return making
}

async function makeTemplate(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const dir = join(sharedDir, `tetrad-template-${name}`)
  if (existsSync(dir)) return dir
  const making = mkdtempSync(`${dir}-`)
  await make(making)
  try {
    renameSync(making, dir)
  } catch {
    // Another process was first.
    rmSync(making, { recursive: true, force: true })
  }
  return dir
}

async function makeDemo(dir: string): Promise<void> {
  const { startDemo: openDemo } = await import('#simulator/demo.ts')
  const demo = await openDemo()
  const stores = await openStores(dir)
  try {
    const settings = complete(SettingsSchema, demo.settings).value
    const world = { settings, clock: systemClock, random: systemRandom, log: silentLog }
    await demo.load(createContext({ state: stores.state, duties: dutiesHere(stores.duties), ...world }))
  } finally {
    await stores.close()
    await demo.close()
  }
}

if (import.meta.main) await templateOf(demoName, makeDemo)
