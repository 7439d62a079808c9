// `tetrad labels list | search | history`: shows the label registry and its history.
import { type Command, Option } from 'commander'
import type { HistoryEntry } from '#explorer/labels/history.ts'
import type { Label } from '#explorer/labels/labels.ts'
import type { Tag } from '#explorer/labels/tags.ts'
import { withState } from './data.ts'
import { oneChain, subjectOf } from './labels-options.ts'
import { integerBetween } from './parse-integer.ts'
import { minuteText, note, print, printJson, table } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface ListOptions extends CommonOptions {
  readonly chain?: string
  readonly addresses?: boolean
  readonly limit: number
}

const limitMax = 10_000
/** Longer texts are truncated in tables; --json has the whole text. */
const cellCharsMax = 60

export function addLabelLists(labels: Command): void {
  labels
    .command('list')
    .description('List entities by slug, or tagged addresses.')
    .option('--chain <id>', 'only this chain', oneChain)
    .option('--addresses', 'tagged addresses instead of entities')
    .addOption(limitOption())
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()))

  labels
    .command('search')
    .description('Find entities and tagged addresses by words of the name, slug, or start of the address.')
    .argument('<words...>', 'words; each must be the start of a word of the name')
    .option('--chain <id>', 'only this chain', oneChain)
    .addOption(limitOption())
    .action((words: readonly string[], _: unknown, command: Command) =>
      search(words.join(' '), command.optsWithGlobals()),
    )

  labels
    .command('history')
    .description('Show who changed what and when, newest first.')
    .argument('[what]', 'only this slug or address')
    .option('--chain <id>', 'only this chain', oneChain)
    .addOption(limitOption())
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
  const { queryWords } = await import('#explorer/labels/match-words.ts')
  const { findLabels } = await import('#explorer/labels/labels.ts')
  const { findTags } = await import('#explorer/labels/tags.ts')
  const words = queryWords(text)
  const entities: Label[] = []
  const addresses: Tag[] = []
  await withState(options, 'found', async (state) => {
    if (words.length === 0) return
    const context = { state, explorer: createExplorerCaches() }
    for (const { kind, subject, chain, source } of await searchEntries(context, { ...options, words })) {
      if (kind === 'entity')
        entities.push(...(await findLabels(state, subject)).filter((label) => label.chain === chain))
      else addresses.push(...(await findTags(state, subject, { chain, source })))
    }
  })
  await printLabels(options, entities, addresses)
}

async function history(what: string | undefined, options: ListOptions): Promise<void> {
  const { readHistory } = await import('#explorer/labels/history.ts')
  const { slug, address } = what === undefined ? { slug: '', address: undefined } : await subjectOf(what)
  const subject = address ?? slug
  const edits = await withState(options, 'found', (state) =>
    readHistory(state, {
      limit: options.limit,
      ...(subject !== '' && { subject }),
      ...(options.chain !== undefined && { chain: options.chain }),
    }),
  )
  if (options.json) return printJson(edits.map(({ atMs, ...edit }) => ({ at: new Date(atMs).toISOString(), ...edit })))
  if (edits.length === 0) return note(subject === '' ? 'No changes yet.' : `No changes of ${subject}.`)
  const rows = edits.map((edit) => [
    ...[minuteText(edit.atMs), edit.by, edit.via, edit.action, edit.chain],
    ...[edit.source === '' ? edit.subject : `${edit.subject} (${edit.source})`, truncate(formatChange(edit), 100)],
  ])
  print(table(['time', 'author', 'via', 'action', 'chain', 'subject', 'fields'], rows))
}

/** `name: "A" → "B"`; for an added or removed row, its name. */
function formatChange({ action, before = {}, after = {} }: HistoryEntry): string {
  if (action !== 'changed') return JSON.stringify({ ...before, ...after }['name' as never])
  const old = before as Record<string, unknown>
  return Object.entries(after)
    .filter(([field]) => field !== 'updatedUnix' || Object.keys(after).length === 1)
    .map(([field, value]) => `${field}: ${JSON.stringify(old[field])} → ${JSON.stringify(value)}`)
    .join(', ')
}

async function printLabels(options: ListOptions, entities: readonly Label[], addresses: readonly Tag[]): Promise<void> {
  if (options.json) {
    const { toAddressRecord } = await import('#explorer/labels/export-registry.ts')
    const asEntities = entities.map(({ updatedUnix, ...label }) => ({ ...label, updated: updatedUnix }))
    return printJson({ entities: asEntities, addresses: addresses.map(toAddressRecord) })
  }
  if (entities.length + addresses.length === 0) return note('No matches.')
  if (entities.length > 0) {
    const rows = entities.map((label) => [
      label.chain,
      label.slug,
      truncate(label.name),
      minuteText(label.updatedUnix * 1000),
      truncate(label.description),
    ])
    print(table(['chain', 'slug', 'name', 'updated', 'description'], rows))
  }
  if (addresses.length > 0) {
    const rows = addresses.map((tag) => [
      ...[tag.chain, tag.address, truncate(tag.name), tag.entity || '-', tag.source, `${tag.confidence} %`],
      truncate(tag.evidenceUrl || '-'),
    ])
    print(table(['chain', 'address', 'name', 'entity', 'source', 'confidence', 'evidence'], rows))
  }
  if (entities.length + addresses.length >= options.limit) note('There may be more results. Raise --limit.')
}

const truncate = (text: string, max = cellCharsMax): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

async function takeInto<T>(from: AsyncIterable<T>, into: T[], limit: number): Promise<void> {
  for await (const item of from) {
    into.push(item)
    if (into.length >= limit) return
  }
}

const limitDefault = 100

const limitOption = (): Option =>
  new Option('--limit <n>', `maximum number of results (default: ${limitDefault})`)
    .default(limitDefault, '')
    .argParser(integerBetween(1, limitMax))
