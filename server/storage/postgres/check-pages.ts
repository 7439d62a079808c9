// Reads every page of the tables in PostgreSQL, for `tetrad doctor --deep`, and their indexes as far as PostgreSQL can check
// them (behaviour/operations.md#deep-check).
//
// - With the extension `amcheck`: the structure of tables, large values and B-tree indexes, as `pg_amcheck` does.
// - Without it: every row with all its values, which fails for a page or a value that cannot be decoded.
// - With checksums, both also notice a changed byte.
import { DatabaseError } from 'pg'
import { parsePostgresUrl } from './address.ts'
import { explainPostgresError } from './errors.ts'
import { PostgresSession } from './session.ts'

export interface PageCheck {
  readonly tables: number
  readonly indexes: number
  readonly damaged: readonly { readonly name: string; readonly reason: string }[]
  /** What this server cannot check, and what would make it possible. */
  readonly notChecked: readonly string[]
}

interface Relation {
  readonly oid: number
  readonly name: string
}

/** Of one table; more are rarely needed to decide what to do. */
const damagesMax = 3
/** A page, a row or an index that is corrupt, or a file that cannot be read. */
const damageStates = ['XX', '58']

export async function checkPostgresPages(url: string): Promise<PageCheck> {
  const address = parsePostgresUrl(url)
  let session: PostgresSession | undefined
  try {
    session = await PostgresSession.open(address, 'walk')
    return await checkPages(session)
  } catch (error) {
    throw explainPostgresError(error, address.name)
  } finally {
    await session?.close()
  }
}

async function checkPages(session: PostgresSession): Promise<PageCheck> {
  const tables = await session.rows<Relation>(
    `select c.oid::bigint as oid, format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname in (current_schema(), current_schema() || '_duties') order by name`,
  )
  const heapCheck = await findFunction(session, 'verify_heapam', 6)
  const indexCheck = await findFunction(session, 'bt_index_check', 2)
  const damaged: { name: string; reason: string }[] = []
  const note = (name: string, reasons: readonly string[]) =>
    damaged.push(...reasons.slice(0, damagesMax).map((reason) => ({ name, reason })))
  let indexCount = 0
  let otherIndexes = 0
  for (const { oid, name } of tables) {
    const read = heapCheck
      ? `select format('block %s: %s', blkno, msg) as reason from ${heapCheck}(${oid}::regclass, check_toast => true)`
      : `select null as reason from ${name} t where length(t::text) < 0`
    note(name, await findDamage(session, read))
    for (const index of await indexesOf(session, oid)) {
      if (index.isBtree === 0) otherIndexes += 1
      else if (indexCheck) {
        indexCount += 1
        note(
          index.name,
          await findDamage(session, `select null as reason from ${indexCheck}(${index.oid}::regclass, true)`),
        )
      }
    }
  }
  const hasChecksums = (await settingOf(session, 'data_checksums')) === 'on'
  const notChecked = [
    ...(indexCheck ? [] : ['indexes (needs the extension amcheck, and permission to call bt_index_check)']),
    ...(otherIndexes > 0 ? [`${otherIndexes} indexes that are not B-trees`] : []),
    ...(hasChecksums ? [] : ['bytes that changed inside a value (needs checksums: pg_checksums --enable)']),
  ]
  return { tables: tables.length, indexes: indexCount, damaged, notChecked }
}

/** The name of a function of `amcheck` that this user may call. Functions of one name differ in their number of inputs. */
async function findFunction(session: PostgresSession, name: string, inputs: number): Promise<string | undefined> {
  const [found] = await session.rows<{ name: string }>(
    `select format('%I.%I', n.nspname, p.proname) as name
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_depend d on d.objid = p.oid and d.deptype = 'e'
     join pg_extension e on e.oid = d.refobjid
     where e.extname = 'amcheck' and p.proname = ? and p.pronargs = ? and has_function_privilege(p.oid, 'execute')
       and has_schema_privilege(n.oid, 'usage') limit 1`,
    [name, inputs],
  )
  return found?.name
}

/** Of a table and of its large values, which are a table of their own. */
const indexesOf = (session: PostgresSession, table: number): Promise<(Relation & { readonly isBtree: number })[]> =>
  session.rows(
    `select c.oid::bigint as oid, format('%I.%I', n.nspname, c.relname) as name, (a.amname = 'btree')::int as "isBtree"
     from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
     join pg_am a on a.oid = c.relam
     where i.indrelid in (select ?::bigint::oid union all select reltoastrelid from pg_class where oid = ?::bigint::oid)
     order by name`,
    [table, table],
  )

async function findDamage(session: PostgresSession, sql: string): Promise<string[]> {
  try {
    const rows = await session.readScript<{ reason: string | null }>(sql)
    return rows.flatMap(({ reason }) => reason ?? [])
  } catch (error) {
    const state = error instanceof DatabaseError ? (error.code ?? '') : ''
    if (!damageStates.some((prefix) => state.startsWith(prefix))) throw error
    return [(error as Error).message]
  }
}

const settingOf = async (session: PostgresSession, name: string): Promise<string | undefined> =>
  (await session.rows<{ setting: string }>('select setting from pg_settings where name = ?', [name]))[0]?.setting
