// A doctor finding about the history of markets: how much it grows in a day, how much it will take in all, and when the disk
// is full. The growth is measured from the stored versions: their number, their time and the size of the newest ones.
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { counted } from '#core/counted.ts'
import { readHistoryHead, readHistoryStartMs } from '#markets/read/versions.ts'
import type { AppContext } from '#server/context.ts'
import type { StateReader } from '#storage/state.ts'
import { type DoctorFinding, okFinding, warnFinding } from './diagnosis.ts'

const dayMs = 86_400_000
const gigabyte = 1e9
/** Below, the finding is a warning. */
const daysMin = 30
/** A shorter history says little about a day. */
const measuredMsMin = 3_600_000
const sampledVersions = 50_000
const sampledPacks = 1000
/** Of a row of versions beside its differences: numbers, names, and its entries in indexes. */
const rowBytes = 110

const name = 'history of markets'

export async function marketGrowthFindings(
  { ingest, settings }: Pick<AppContext, 'ingest' | 'settings'>,
  readFreeBytes: (reader: StateReader) => Promise<number | undefined> = freeBytesOfDatabase,
): Promise<DoctorFinding[]> {
  const { feeds, history } = settings.markets
  const keptDays = { off: 1, days: history.keptDays, forever: Number.POSITIVE_INFINITY }[history.keep]
  if (feeds.length === 0) return []
  const stored = await readStoredHistory(ingest)
  if (!stored || stored.lastsMs < measuredMsMin)
    return [okFinding(name, 'less than an hour is stored, so its growth is not known yet')]
  const storedDays = stored.lastsMs / dayMs
  const perDay = stored.bytes / storedDays
  const daysLeft = Math.max(0, keptDays - storedDays)
  const growth = `${sizeText(perDay)} a day`
  const total = Number.isFinite(keptDays)
    ? `; in all ${sizeText(perDay * keptDays)} for ${counted(keptDays, 'day')}`
    : ''
  if (daysLeft < 1) return [okFinding(name, `${growth} are added and deleted${total}`)]
  const freeBytes = await readFreeBytes(ingest)
  if (freeBytes === undefined) return [okFinding(name, `grows by ${growth}${total}`)]
  const daysUntilFull = freeBytes / perDay
  const message = `grows by ${growth}${total}; ${sizeText(freeBytes)} are free`
  if (daysUntilFull >= Math.min(daysMin, daysLeft)) return [okFinding(name, message)]
  const fitting = Math.floor(storedDays + daysUntilFull / 2)
  return [
    warnFinding(
      name,
      `${message}, so the disk is full in ${counted(Math.floor(daysUntilFull), 'day')}`,
      `set markets.history.keptDays to at most ${Math.max(1, fitting)}, use a larger disk, or read the feeds less often (markets.feeds[].everyMs, fullEveryMs)`,
    ),
  ]
}

/** Undefined without versions. The numbers of versions have no gaps. */
async function readStoredHistory(reader: StateReader) {
  const { seq, atMs, horizonSeq } = await readHistoryHead(reader)
  const startMs = await readHistoryStartMs(reader)
  if (startMs === undefined || seq === horizonSeq) return undefined
  const sampledFrom = Math.max(horizonSeq, seq - sampledVersions)
  const rows = await reader.get<{ versions: number; bytes: number }>(
    `select count(*) as versions, coalesce(sum(length(diff) + ${rowBytes}), 0) as bytes from market_versions where seq > ?`,
    sampledFrom,
  )
  const [versions, bytes] = [Number(rows?.versions ?? 0), Number(rows?.bytes ?? 0)]
  const sampled = seq - sampledFrom
  const fastBytes = sampled > versions ? (sampled - versions) * (await readFastChangeBytes(reader, sampledFrom)) : 0
  return { lastsMs: atMs - startMs, bytes: ((seq - horizonSeq) * (bytes + fastBytes)) / sampled }
}

/** Of a change of fast values, as it is stored for long: in the newest packs. Before there are any: in ticks. */
async function readFastChangeBytes(reader: StateReader, sampledFrom: number): Promise<number> {
  const row = await reader.get<{ packed: number | null; changes: number | null; ticks: number | null }>(
    `select sum(length(packed) + ${rowBytes}) as packed, sum(changes) as changes,
       (select sum(length(changes) + ${rowBytes}) from market_ticks where seq > ?) as ticks
     from (select packed, changes from market_packs
       where merged = 0 order by until_seq desc limit ?) as newest`,
    ...[sampledFrom, sampledPacks],
  )
  if (row?.packed && row.changes) return Number(row.packed) / Number(row.changes)
  const { seq } = await readHistoryHead(reader)
  return Number(row?.ticks ?? 0) / (seq - sampledFrom)
}

/** Undefined if the database is on another machine. */
async function freeBytesOfDatabase(reader: StateReader): Promise<number | undefined> {
  if (!('engine' in reader) || reader.engine !== 'sqlite') return undefined
  const database = await reader.get<{ file: string }>("select file from pragma_database_list where name = 'main'")
  if (!database?.file) return undefined
  const { bavail, bsize } = await statfs(dirname(database.file))
  return bavail * bsize
}

const sizeText = (bytes: number): string =>
  bytes < gigabyte / 10 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / gigabyte).toFixed(1)} GB`
