// The comparison of bench/ratings.ts: the same figures in a PostgreSQL table with one row per validator and day, in the
// order of arrival, with a primary key for queries by validator. Caches are warm unless `cool` was called.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { amounts, counts, type Measure, measures } from '#validators/method/measures.ts'

export interface SumQuery {
  readonly validators: readonly number[]
  readonly from: number
  readonly until: number
}

const port = '54329'
const columns = ['network', 'validator', 'day', ...measures]
const columnTypes = [
  'network text not null',
  ...['validator', 'day', ...counts].map((name) => `${name} integer not null`),
  ...amounts.map((name) => `${name} bigint not null`),
]

const attester = `case when assigned = 0 then null when inclusion_delay = 0 then 0
  else 100.0::float8 * included * (correct_source + correct_target + correct_head) / (3 * assigned * inclusion_delay) end`
const proposer = `case when proposer_duties = 0 then null
  else 25.0::float8 * (4 * proposed - 3 * proposed_empty) / proposer_duties end`
const validator = `case when proposer_duties = 0 then (${attester}) else 0.375 * (${proposer}) + 0.625 * (${attester}) end`
const scoresSql = [attester, proposer, validator].map((score) => `avg(${score})`).join()

/** Undefined: PostgreSQL is not installed. */
export async function openPostgres() {
  const bin = globSync('/usr/lib/postgresql/*/bin').sort().at(-1)
  if (!bin || !existsSync(join(bin, 'initdb'))) return undefined
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-postgres-'))
  // The server refuses to run as root.
  const owner = process.getuid?.() === 0 ? userOf('postgres') : undefined
  if (owner) chownSync(dir, owner.uid, owner.gid)
  const options = { ...owner, cwd: dir, stdio: 'ignore' as const }
  const data = join(dir, 'data')
  execFileSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'bench'], options)
  const settings = [
    'shared_buffers=2GB',
    'work_mem=64MB',
    'fsync=off',
    'max_wal_size=8GB',
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${dir}`,
  ]
  const start = () =>
    spawn(join(bin, 'postgres'), ['-D', data, '-p', port, ...settings.flatMap((setting) => ['-c', setting])], options)
  let server = start()
  const psql = (...args: string[]) => [
    '-h',
    dir,
    '-p',
    port,
    '-U',
    'bench',
    '-d',
    'postgres',
    '-qAtX',
    '-v',
    'ON_ERROR_STOP=1',
    ...args,
  ]
  const run = (sql: string): string => {
    const result = spawnSync('psql', psql('-f', '-'), { input: sql, encoding: 'utf8', maxBuffer: 2 ** 28 })
    if (result.status !== 0) throw new Error(result.stderr)
    return result.stdout
  }
  const ready = async () => {
    while (spawnSync('psql', psql('-c', 'select 1')).status !== 0)
      await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const stop = async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGINT')
    await ended
  }
  await ready()
  run(`create table duty_days (${columnTypes.join()})`)
  const output = psql('-c', `copy duty_days (${columns.join()}) from stdin`)
  const copy = spawn('psql', output, { stdio: ['pipe', 'inherit', 'inherit'] })
  const copied = new Promise<void>((resolve, reject) => {
    copy.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`psql ended with ${code}`))))
  })
  return {
    /** For a database of Tetrad in the same server. */
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    /** Adds the rows of a day. */
    async take(day: number, sums: Readonly<Record<Measure, Float64Array>>): Promise<void> {
      const lines = Array.from(sums.assigned, (_, validator) =>
        ['mainnet', validator, day, ...measures.map((name) => sums[name][validator])].join('\t'),
      )
      if (!copy.stdin.write(`${lines.join('\n')}\n`)) await new Promise((resolve) => copy.stdin.once('drain', resolve))
    },
    async ready(): Promise<void> {
      copy.stdin.end()
      await copied
      run('alter table duty_days add primary key (network, validator, day); vacuum analyze duty_days')
      const bytes = Number(run("select pg_total_relation_size('duty_days') / count(*) from duty_days").trim())
      console.log(`PostgreSQL: ${bytes} bytes per row, index and all`)
    },
    /** All sums by day and the means of the three scores. Returns milliseconds, measured by psql. */
    async sum({ validators, from, until }: SumQuery): Promise<number> {
      const sums = measures.map((name) => `sum(${name})`).join()
      const out = run(`\\timing on
        select day, ${sums}, ${scoresSql} from duty_days where network = 'mainnet' and validator = any('{${validators.join()}}'::integer[])
        and day >= ${from} and day < ${until} group by day order by day desc;`)
      return Number(/Time: ([\d.]+) ms/.exec(out)?.[1] ?? Number.NaN)
    },
    /** Sorts the rows by validator. New rows are not in this order, so it must be repeated. */
    cluster(): void {
      run('cluster duty_days using duty_days_pkey; vacuum analyze duty_days')
    },
    /** Like after a reboot: nothing is cached. */
    async cool(): Promise<void> {
      await stop()
      dropFromCache(globSync(join(data, 'base/*/*')))
      server = start()
      await ready()
    },
    async [Symbol.asyncDispose]() {
      await stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Removes files from the system's cache. */
function dropFromCache(files: readonly string[]): void {
  for (const file of files) {
    if (!statSync(file).isFile()) continue
    execFileSync('sync', [file])
    execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none'])
  }
}

function userOf(name: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
