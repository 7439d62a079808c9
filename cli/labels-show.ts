// `tetrad labels list | search | history`: what the registry holds, and how it came to.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { HistoryEntry } from '#explorer/labels/history.ts'
import type { Label } from '#explorer/labels/labels.ts'
import type { Tag } from '#explorer/labels/tags.ts'
import { withState } from './data.ts'
import { oneChain, subjectOf } from './labels-options.ts'
import { minuteText, note, print, printJson, table } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface ListOptions extends CommonOptions {
  readonly chain?: string
  readonly addresses?: boolean
  readonly limit: number
}

const limitMax = 10_000
/** Longer texts are cut in a table; --json has them whole. */
const cellCharsMax = 60

export function addLabelLists(labels: Command): void {
  labels
    .command('list')
    .description('List entities by slug, or tagged addresses.')
    .option('--chain <id>', 'only of this chain', oneChain)
    .option('--addresses', 'tagged addresses instead of entities')
    .addOption(limitOption(100))
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()))

  labels
    .command('search')
    .description('Find entities and addresses: words of a name or slug, or the beginning of an address.')
    .argument('<words...>', 'what to look for; each begins a word')
    .option('--chain <id>', 'only of this chain', oneChain)
    .addOption(limitOption(100))
    .action((words: readonly string[], _: unknown, command: Command) =>
      search(words.join(' '), command.optsWithGlobals()),
    )

  labels
    .command('history')
    .description('Who changed what when, the newest first.')
    .argument('[what]', 'only of this slug or address')
    .option('--chain <id>', 'only of this chain', oneChain)
    .addOption(limitOption(100))
    .action((what: string | undefined, _: unknown, command: Command) => history(what, command.optsWithGlobals()))
}

async function list(options: ListOptions): Promise<void> {
  const { eachLabel } = await import('#explorer/labels/labels.ts')
  const { eachTag } = await import('#explorer/labels/tags.ts')
  const entities: Label[] = []
  const addresses: Tag[] = []
  await withState(options, 'found', async (state) => {
    const { limit, chain } = options
    if (options.addresses) await takeInto(eachTag(state, chain), addresses, limit)
    else await takeInto(eachLabel(state, chain), entities, limit)
  })
  await printLabels(options, entities, addresses)
}

async function search(text: string, options: ListOptions): Promise<void> {
  const { createExplorerCaches } = await import('#explorer/context.ts')
  const { searchEntries } = await import('#explorer/labels/search-table.ts')
  const { queryWords: parseWords } = await import('#explorer/labels/match-words.ts')
  const { findLabels } = await import('#explorer/labels/labels.ts')
  const { findTags } = await import('#explorer/labels/tags.ts')
  const words = parseWords(text)
  const entities: Label[] = []
  const addresses: Tag[] = []
  await withState(options, 'found', async (state) => {
    if (words.length === 0) return
    const context = { state, explorer: createExplorerCaches() }
    for (const { kind, subject, chain, source } of await searchEntries(context, { ...options, words })) {
      if (kind === 'entity') entities.push(...(await findLabels(state, subject)).filter((one) => one.chain === chain))
      else addresses.push(...(await findTags(state, subject, { chain, source })))
    }
  })
  await printLabels(options, entities, addresses)
}

async function history(what: string | undefined, options: ListOptions): Promise<void> {
  const { readHistory: historyOf } = await import('#explorer/labels/history.ts')
  const { slug, address } = what === undefined ? { slug: '', address: undefined } : await subjectOf(what)
  const subject = address ?? slug
  const found = await withState(options, 'found', (state) =>
    historyOf(state, {
      limit: options.limit,
      ...(subject !== '' && { subject }),
      ...(options.chain !== undefined && { chain: options.chain }),
    }),
  )
  if (options.json) return printJson(found.map(({ atMs, ...edit }) => ({ at: new Date(atMs).toISOString(), ...edit })))
  if (found.length === 0) return note(subject === '' ? 'Nothing was changed yet.' : `Nothing is known of ${subject}.`)
  const rows = found.map((edit) => [
    ...[minuteText(edit.atMs), edit.by, edit.via, edit.action, edit.chain],
    ...[edit.source === '' ? edit.subject : `${edit.subject} (${edit.source})`, truncate(formatChange(edit), 100)],
  ])
  print(table(['when', 'who', 'how', 'what', 'chain', 'of', 'fields'], rows))
}

/** `name: "A" → "B"`, or the whole of what was added or removed by its name. */
function formatChange({ action, was = {}, is = {} }: HistoryEntry): string {
  if (action !== 'changed') return JSON.stringify({ ...was, ...is }['name' as never])
  const before = was as Record<string, unknown>
  return Object.entries(is)
    .filter(([field]) => field !== 'updatedUnix' || Object.keys(is).length === 1)
    .map(([field, value]) => `${field}: ${JSON.stringify(before[field])} → ${JSON.stringify(value)}`)
    .join(', ')
}

async function printLabels(options: ListOptions, entities: readonly Label[], addresses: readonly Tag[]): Promise<void> {
  if (options.json) {
    const { toAddressRecord: addressRecord } = await import('#explorer/labels/export-registry.ts')
    const asEntities = entities.map(({ updatedUnix, ...one }) => ({ ...one, updated: updatedUnix }))
    return printJson({ entities: asEntities, addresses: addresses.map(addressRecord) })
  }
  if (entities.length + addresses.length === 0) return note('There is nothing like that in the registry.')
  if (entities.length > 0) {
    const rows = entities.map((one) => [
      one.chain,
      one.slug,
      truncate(one.name),
      minuteText(one.updatedUnix * 1000),
      truncate(one.description),
    ])
    print(table(['chain', 'slug', 'name', 'updated', 'description'], rows))
  }
  if (addresses.length > 0) {
    const rows = addresses.map((one) => [
      ...[one.chain, one.address, truncate(one.name), one.entity || '-', one.source, `${one.confidence} %`],
      truncate(one.evidenceUrl || '-'),
    ])
    print(table(['chain', 'address', 'name', 'entity', 'source', 'sure', 'evidence'], rows))
  }
  if (entities.length + addresses.length >= options.limit) note('There may be more; see --limit.')
}

const truncate = (text: string, max = cellCharsMax): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

async function takeInto<T>(from: AsyncIterable<T>, into: T[], limit: number): Promise<void> {
  for await (const one of from) {
    into.push(one)
    if (into.length >= limit) return
  }
}

const limitOption = (usual: number): Option =>
  new Option('--limit <n>', `how many at most (default: ${usual})`).default(usual, '').argParser((text) => {
    const limit = Number(text)
    if (!Number.isInteger(limit) || limit < 1 || limit > limitMax) {
      throw new InvalidArgumentError(`It must be 1 to ${limitMax}.`)
    }
    return limit
  })
