// `tetrad labels add | edit | remove`: edits the label registry. Works while a server is running; its next response has
// the change.
import type { Command } from 'commander'
import type { LabelPatch } from '#explorer/labels/labels.ts'
import type { PatchResult, RawRecord } from '#explorer/labels/parse-record.ts'
import type { TagPatch } from '#explorer/labels/tags.ts'
import { withIngest } from './data.ts'
import { CommandFailure, UsageFailure } from './failure.ts'
import { addLabelFiles } from './labels-files.ts'
import { addLabelHistory } from './labels-history.ts'
import { authorOf, chainOption, chainsOf, parsePercent, subjectOf, warnUnservedChains } from './labels-options.ts'
import { counted, printResult } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface FieldOptions extends CommonOptions {
  readonly chain?: readonly string[]
  readonly address?: string
  readonly slug?: string
  readonly name?: string
  readonly description?: string
  readonly notes?: string
  readonly entity?: string
  readonly source?: string
  readonly confidence?: number
  readonly evidence?: string
  readonly by?: string
}

export function addLabels(program: Command): void {
  const labels = program
    .command('labels')
    .description('The label registry: entities and tagged addresses, with their history.')
  onAdd(labels)
  onEdit(labels)
  onRemove(labels)
  addLabelHistory(labels)
  addLabelFiles(labels)
}

function onAdd(labels: Command): void {
  const add = labels
    .command('add')
    .description('Add an entity, or tag an address with --address.')
    .requiredOption('--name <name>', 'name of the entity or address')
    .requiredOption('--chain <list>', 'chain ids, separated by commas', chainsOf)
    .option('--slug <slug>', 'identifier of the entity (default: made from the name)')
    .option('--address <address>', 'address to tag: 0x and 40 hexadecimal digits')
  fieldOptions(add)
    .option('--source <source>', 'source of the tag (default: own)')
    .action((_: unknown, command: Command) => addOne(command.optsWithGlobals()))
}

function onEdit(labels: Command): void {
  const edit = labels
    .command('edit')
    .description('Change an entity or a tagged address. Fields that you leave out stay.')
    .argument('<what>', 'slug or address')
    .addOption(chainOption('only on these chains (default: all of its chains)'))
    .option('--name <name>', 'name of the entity or address')
  fieldOptions(edit)
    .option('--source <source>', 'source of the tag, if several sources tag the address')
    .action((what: string, _: unknown, command: Command) => editOne(what, command.optsWithGlobals()))
}

const fieldOptions = (command: Command): Command =>
  command
    .option('--description <text>', 'short description of an entity')
    .option('--notes <text>', 'notes about an entity')
    .option('--entity <slug>', 'entity of a tagged address')
    .option('--confidence <percent>', 'confidence of a tagged address, 0 to 100', parsePercent)
    .option('--evidence <url>', 'link that proves the tag')
    .option('--by <who>', 'author of the change (default: name of the user)')

function onRemove(labels: Command): void {
  labels
    .command('remove')
    .description('Remove an entity or the tags of an address. They stay in the history.')
    .argument('<what>', 'slug or address')
    .addOption(chainOption('only on these chains (default: all of its chains)'))
    .option('--source <source>', 'only the tag of this source')
    .option('--addresses', 'remove the tagged addresses of the entity too')
    .option('--by <who>', 'author of the change (default: name of the user)')
    .action((what: string, _: unknown, command: Command) => remove(what, command.optsWithGlobals()))
}

async function addOne(options: FieldOptions): Promise<void> {
  const { addLabels: addEntities, addTags } = await import('#explorer/labels/edit.ts')
  const { toEntityPatches, toTagPatches } = await import('#explorer/labels/parse-record.ts')
  const { record, tag } = recordOf(options)
  const author = await authorOf(options, 'tetrad labels add')
  const defaults = { source: 'own', confidence: 100 }
  if (tag) {
    const patches = checked(toTagPatches(record, defaults))
    await withIngest(options, 'made', (ingest) => addTags(ingest, author, patches))
    printChange(options, { added: patches.length, address: patches[0]?.address, chains: chainList(patches) })
    return warnUnservedChains(options, chainList(patches))
  }
  await requireSlug(options)
  const patches = checked(toEntityPatches(record, defaults))
  await withIngest(options, 'made', (ingest) => addEntities(ingest, author, patches))
  printChange(options, { added: patches.length, slug: patches[0]?.slug, chains: chainList(patches) })
  await warnUnservedChains(options, chainList(patches))
}

/** The slug is made from the letters a-z and digits of the name, and a name may have none. */
async function requireSlug({ name = '', slug }: FieldOptions): Promise<void> {
  const { toSlug } = await import('#explorer/labels/parse-record.ts')
  if (name.trim() === '') throw new UsageFailure('labels.options', '--name is empty.')
  if (slug !== undefined || toSlug(name) !== '') return
  throw new UsageFailure('labels.options', '--name has no letters a-z or digits to make a slug from. Pass --slug.')
}

async function editOne(what: string, options: FieldOptions): Promise<void> {
  const { editLabel, editTag } = await import('#explorer/labels/edit.ts')
  const { toEntityPatches, toTagPatches } = await import('#explorer/labels/parse-record.ts')
  const author = await authorOf(options, 'tetrad labels edit')
  const { slug, address } = await subjectOf(what)
  const { chain: chains, source } = options
  // Validation needs a complete record, so placeholders are filled in and removed again.
  if (address !== undefined) {
    const { record } = recordOf({ ...options, chain: ['1'], address, name: options.name ?? '-' })
    const [patch] = checked(toTagPatches(record, { source: 'own' }))
    const { chain: _, address: __, source: ___, name, ...set } = patch as TagPatch
    const changes = { ...set, name: options.name === undefined ? undefined : name }
    requireChanges(changes)
    const { matched, changed } = await withIngest(options, 'found', (ingest) =>
      editTag(ingest, author, { address, chains, source }, changes),
    )
    return printChange(options, { edited: changed, address, chains: chainList(matched) })
  }
  const { record } = recordOf({ ...options, chain: ['1'], slug })
  const [patch] = checked(toEntityPatches(record, { source: 'own' }))
  const { chain: _, slug: __, ...changes } = patch as LabelPatch
  requireChanges(changes)
  const { matched, changed } = await withIngest(options, 'found', (ingest) =>
    editLabel(ingest, author, { slug, chains }, changes),
  )
  printChange(options, { edited: changed, slug, chains: chainList(matched) })
}

async function remove(what: string, options: FieldOptions & { readonly addresses?: boolean }): Promise<void> {
  const { removeAddress, removeEntity } = await import('#explorer/labels/edit.ts')
  const author = await authorOf(options, 'tetrad labels remove')
  const { slug, address } = await subjectOf(what)
  const { chain: chains, source } = options
  if (address !== undefined) {
    const tags = await withIngest(options, 'found', (ingest) =>
      removeAddress(ingest, author, { address, chains, source }),
    )
    return printChange(options, { removed: tags.length, address, chains: chainList(tags) })
  }
  const addressesToo = options.addresses ?? false
  const { entities, addresses } = await withIngest(options, 'found', (ingest) =>
    removeEntity(ingest, author, { slug, chains, addressesToo }),
  )
  printChange(options, { removed: entities.length, slug, chains: chainList(entities), addresses: addresses.length })
}

/** Converts the options to a record. Throws if an option belongs to the other kind of record. */
function recordOf(options: FieldOptions): { readonly record: RawRecord; readonly tag: boolean } {
  const { chain, address, slug, name, description, notes, entity, source, confidence, evidence } = options
  const tag = address !== undefined
  const ofEntities = { slug, description, notes }
  const ofAddresses = { address, entity, source, confidence, evidence }
  const misplaced = Object.entries(tag ? ofEntities : ofAddresses).find(([, value]) => value !== undefined)
  if (misplaced) {
    throw new UsageFailure(
      'labels.options',
      `--${misplaced[0]} is not for ${tag ? 'an address' : 'an entity'}${tag || misplaced[0] === 'address' ? '' : '; tag an address with --address'}.`,
    )
  }
  const fields = Object.entries({ chain, name, ...(tag ? ofAddresses : ofEntities) })
  return { record: Object.fromEntries(fields.filter(([, value]) => value !== undefined)), tag }
}

function checked<Patch>(result: PatchResult<Patch>): readonly Patch[] {
  if ('reason' in result) throw new CommandFailure('labels.invalid', `${result.reason}.`)
  return result
}

function requireChanges(changes: object): void {
  if (Object.values(changes).every((value) => value === undefined))
    throw new UsageFailure('labels.options', 'Nothing to change: pass at least one option.')
}

const chainList = (rows: readonly { readonly chain: string }[]): string[] => [
  ...new Set(rows.map(({ chain }) => chain)),
]

function printChange(options: CommonOptions, result: Readonly<Record<string, unknown>>): void {
  const [[verb, count] = []] = Object.entries(result)
  const { slug, address, chains, addresses } = result
  const subject = slug ?? address
  const also = addresses ? `, with ${counted(addresses as number, 'tagged address', 'tagged addresses')}` : ''
  const text =
    count === 0
      ? `nothing changed: ${subject} already has these values`
      : `${verb} ${subject} on chain ${(chains as string[]).join(', ')} (${count})${also}`
  printResult(options, result, text)
}
