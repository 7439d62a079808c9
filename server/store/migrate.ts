// Brings a store's tables up to what the code expects.
//
// 1. A migration and its row in `migrations` are one transaction: after a failure neither is there.
// 2. Each migration runs once, also when two processes start at the same time: the row is looked up in the transaction.
// 3. A store that has a migration this code does not know is refused and left as it is.
import { strict as assert } from 'node:assert'
import { Fault } from '#core/fault.ts'

/** What both ports' transactions can do for a migration. */
export interface MigrationTurn {
  applied(): Promise<readonly number[]>
  run(sql: string): Promise<void>
  record(id: number, name: string): Promise<void>
}

export interface Step {
  readonly id: number
  readonly name: string
  readonly statements: readonly string[]
}

/** Each engine makes this table itself, in its own column words. */
export const migrationsTable = 'create table if not exists migrations (id integer primary key, name text not null)'

export async function migrate(
  file: string,
  steps: readonly Step[],
  inTransaction: (work: (turn: MigrationTurn) => Promise<void>) => Promise<void>,
): Promise<void> {
  steps.forEach((step, index) => {
    assert(step.id === index + 1, `migration ${step.id} (${step.name}) stands in place ${index + 1} of the list`)
  })
  await inTransaction(async (turn) => {
    await turn.run(migrationsTable)
    refuseNewer(file, await turn.applied(), steps)
  })
  for (const step of steps) await inTransaction((turn) => apply(turn, step))
}

async function apply(turn: MigrationTurn, step: Step): Promise<void> {
  const applied = await turn.applied()
  if (applied.includes(step.id)) return
  for (const statement of step.statements) await turn.run(statement)
  await turn.record(step.id, step.name)
}

function refuseNewer(file: string, applied: readonly number[], steps: readonly Step[]): void {
  const newest = Math.max(0, ...applied)
  if (newest <= steps.length) return
  throw new Fault('store.unavailable', {
    detail:
      `${file} was written by a newer version: its schema has number ${newest}, this version knows ${steps.length}. ` +
      'Start the newer version again, or restore the copy of the data folder made before the upgrade.',
  })
}
