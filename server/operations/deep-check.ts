// The deep check of `tetrad doctor --deep`: every page of all databases, as far as the engine can check them. It takes as long
// as reading all data. The normal doctor reports when it last found nothing wrong, and what it does not check itself
// (behaviour/operations.md#deep-check).
import { ageText } from '#core/age.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { State } from '#storage/state.ts'
import { type DoctorFinding, failFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'
import { fileFindings } from './machine.ts'

const name = 'deep check'
const dueAfterMs = 31 * 86_400_000
/** When the last deep check without damage began. */
const doneKey = 'doctor/deep'
const dutiesName = 'duties.sqlite'

export interface DeepCheckContext {
  readonly dataDir: string
  readonly store: { readonly state: string }
}

/** What is not checked without `--deep`. */
const uncheckedOf = ({ state }: DeepCheckContext['store']): string =>
  state === '' ? `the pages and indexes of ${dutiesName}` : 'the pages of tables and indexes in PostgreSQL'

export const deepFindings = ({ dataDir, store }: DeepCheckContext): Promise<readonly DoctorFinding[]> =>
  runCheck(name, 'see the log of PostgreSQL, or run the doctor as the user of the server', () =>
    store.state === '' ? sqliteFindings(dataDir) : postgresFindings(store.state),
  )

/** The other files are checked by every doctor. */
async function sqliteFindings(dataDir: string): Promise<DoctorFinding[]> {
  const findings = await fileFindings(dataDir, dutiesName)
  if (findings.some(({ level }) => level === 'fail')) return findings
  const message =
    'done; not checked: bytes that changed inside a value, because SQLite has no checksums; ratings have their own'
  return [...findings, okFinding(name, message)]
}

async function postgresFindings(url: string): Promise<DoctorFinding[]> {
  const { checkPostgresPages } = await import('#storage/postgres/check-pages.ts')
  const { tables, indexes, damaged, notChecked } = await checkPostgresPages(url)
  if (damaged.length > 0) return damaged.map((one) => failFinding(`${name}: ${one.name}`, one.reason, postgresTodo))
  const message = `${tables} tables and ${indexes} indexes are intact`
  if (notChecked.length === 0) return [okFinding(name, message)]
  const todo = 'give PostgreSQL what it needs, then run the deep check again'
  return [warnFinding(name, `${message}; not checked: ${notChecked.join('; ')}`, todo)]
}

const postgresTodo =
  'keep a copy of the data folder of PostgreSQL; a damaged index: reindex it; a damaged table: restore a base backup up to now, and check the disk'

export const recordDeepCheck = (state: State, startedMs: number): Promise<void> =>
  state.write((tx) => moveCursor(tx, doneKey, startedMs))

/** `isOwn`: the data is not the demo's. */
export async function lastDeepCheck(
  state: State,
  {
    store,
    nowMs,
    isOwn,
  }: { readonly store: DeepCheckContext['store']; readonly nowMs: number; readonly isOwn: boolean },
): Promise<DoctorFinding> {
  const doneMs = await cursorOf(state, doneKey)
  const last =
    doneMs === undefined
      ? 'has not run yet'
      : `last found no damage ${ageText(Math.max(0, Math.round((nowMs - doneMs) / 1000)))} ago`
  const message = `${last}; without it, these are not checked: ${uncheckedOf(store)}`
  const isDue = doneMs === undefined ? isOwn : nowMs - doneMs > dueAfterMs
  return isDue ? warnFinding(name, message, 'tetrad doctor --deep, once a month') : okFinding(name, message)
}
