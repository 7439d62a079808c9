// `tetrad labels …`: the registry of labelled entities and tagged addresses. Opens the state store alone, so it works
// beside a running server, which answers with the change at its next request.
import type { Command } from 'commander'
import type { LabelPatch } from '#explorer/labels/labels.ts'
import type { PatchResult, RawRecord } from '#explorer/labels/parse-record.ts'
import type { TagPatch } from '#explorer/labels/tags.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { addLabelFiles } from './labels-files.ts'
import { authorOf, chainOption, chainsOf, parsePercent, subjectOf, warnUnservedChains } from './labels-options.ts'
import { addLabelLists } from './labels-show.ts'
import { print, printJson } from './print.ts'
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
  addLabelLists(labels)
  addLabelFiles(labels)
}

function onAdd(labels: Command): void {
  const add = labels
    .command('add')
    .description('Add an entity; with --address, name an address.')
    .requiredOption('--name <name>', 'what it is called')
    .requiredOption('--chain <list>', 'chain ids, separated by commas', chainsOf)
    .option('--slug <slug>', 'identifier of an entity (default: made from the name)')
    .option('--address <address>', 'the address to name; 0x and 40 hexadecimal digits')
  fieldOptions(add)
    .option('--source <source>', 'whose word it is, for an address (default: own)')
    .addHelpText(
      'after',
      `
Examples:
  $ tetrad labels add --chain 1,137 --name "Quayside Exchange" --description "Centralised exchange."
  $ tetrad labels add --chain 1 --address 0x28c6… --name "Hot wallet 14" --entity quayside-exchange --confidence 95`,
    )
    .action((_: unknown, command: Command) => addOne(command.optsWithGlobals()))
}

function onEdit(labels: Command): void {
  const edit = labels
    .command('edit')
    .description('Change an entity or the name of an address; what is not given stays.')
    .argument('<what>', 'a slug, or an address')
    .addOption(chainOption('only on these chains (default: all it is on)'))
    .option('--name <name>', 'what it is called')
  fieldOptions(edit)
    .option('--source <source>', 'whose word to change, where several sources name an address')
    .action((what: string, _: unknown, command: Command) => editOne(what, command.optsWithGlobals()))
}

const fieldOptions = (command: Command): Command =>
  command
    .option('--description <text>', 'short description, of an entity')
    .option('--notes <text>', 'notes, of an entity')
    .option('--entity <slug>', 'the entity an address belongs to')
    .option('--confidence <percent>', 'how sure it is, of an address; 0 to 100', parsePercent)
    .option('--evidence <url>', 'where it can be verified, of an address')
    .option('--by <who>', 'who makes the change (default: the name of the user)')

function onRemove(labels: Command): void {
  labels
    .command('remove')
    .description('Remove an entity or the names of an address. The history keeps them.')
    .argument('<what>', 'a slug, or an address')
    .addOption(chainOption('only on these chains (default: all it is on)'))
    .option('--source <source>', 'only the word of this source, of an address')
    .option('--addresses', 'with an entity, remove its tagged addresses too')
    .option('--by <who>', 'who makes the change (default: the name of the user)')
    .action((what: string, _: unknown, command: Command) => remove(what, command.optsWithGlobals()))
}

async function addOne(options: FieldOptions): Promise<void> {
  const { addLabels: addEntities, addTags } = await import('#explorer/labels/edit.ts')
  const { toEntityPatches: entityPatches, toTagPatches: tagPatches } = await import('#explorer/labels/parse-record.ts')
  const { record, tag } = recordOf(options)
  const author = await authorOf(options, 'tetrad labels add')
  const defaults = { source: 'own', confidence: 100 }
  if (tag) {
    const patches = checked(tagPatches(record, defaults))
    await withState(options, 'made', (state) => addTags(state, author, patches))
    printResult(options, { added: patches.length, address: patches[0]?.address, chains: chainList(patches) })
    return warnUnservedChains(options, chainList(patches))
  }
  await wantSlug(options)
  const patches = checked(entityPatches(record, defaults))
  await withState(options, 'made', (state) => addEntities(state, author, patches))
  printResult(options, { added: patches.length, slug: patches[0]?.slug, chains: chainList(patches) })
  await warnUnservedChains(options, chainList(patches))
}

/** The slug is made from the name, and not every name has the letters for one. */
async function wantSlug({ name = '', slug }: FieldOptions): Promise<void> {
  const { toSlug: slugOf } = await import('#explorer/labels/parse-record.ts')
  if (name.trim() === '') throw new CommandFailure('labels.options', '--name is empty.')
  if (slug !== undefined || slugOf(name) !== '') return
  const message = 'has none of the letters a-z and digits that a slug is made of; give one with --slug'
  throw new CommandFailure('labels.options', `--name ${message}.`)
}

async function editOne(what: string, options: FieldOptions): Promise<void> {
  const { editLabel, editTag } = await import('#explorer/labels/edit.ts')
  const { toEntityPatches: entityPatches, toTagPatches: tagPatches } = await import('#explorer/labels/parse-record.ts')
  const author = await authorOf(options, 'tetrad labels edit')
  const { slug, address } = await subjectOf(what)
  const { chain: chains, source } = options
  // The checks want a whole record: what is not given stands in here and is left out again.
  if (address !== undefined) {
    const { record } = recordOf({ ...options, chain: ['1'], address, name: options.name ?? '-' })
    const [patch] = checked(tagPatches(record, { source: 'own' }))
    const { chain: _, address: __, source: ___, name, ...set } = patch as TagPatch
    const changes = { ...set, ...(options.name !== undefined && name !== undefined && { name }) }
    wantChanges(changes)
    const { found, changed } = await withState(options, 'found', (state) =>
      editTag(state, author, { address, chains, source }, changes),
    )
    return printResult(options, { edited: changed, address, chains: chainList(found) })
  }
  const { record } = recordOf({ ...options, chain: ['1'], slug })
  const [patch] = checked(entityPatches(record, { source: 'own' }))
  const { chain: _, slug: __, ...changes } = patch as LabelPatch
  wantChanges(changes)
  const { found, changed } = await withState(options, 'found', (state) =>
    editLabel(state, author, { slug, chains }, changes),
  )
  printResult(options, { edited: changed, slug, chains: chainList(found) })
}

async function remove(what: string, options: FieldOptions & { readonly addresses?: boolean }): Promise<void> {
  const { removeAddress, removeEntity } = await import('#explorer/labels/edit.ts')
  const author = await authorOf(options, 'tetrad labels remove')
  const { slug, address } = await subjectOf(what)
  const { chain: chains, source } = options
  if (address !== undefined) {
    const found = await withState(options, 'found', (state) =>
      removeAddress(state, author, { address, chains, source }),
    )
    return printResult(options, { removed: found.length, address, chains: chainList(found) })
  }
  const addressesToo = options.addresses ?? false
  const { entities, addresses } = await withState(options, 'found', (state) =>
    removeEntity(state, author, { slug, chains, addressesToo }),
  )
  printResult(options, { removed: entities.length, slug, chains: chainList(entities), addresses: addresses.length })
}

/** The options as a record of the kind they speak of; an option of the other kind is a slip. */
function recordOf(options: FieldOptions): { readonly record: RawRecord; readonly tag: boolean } {
  const { chain, address, slug, name, description, notes, entity, source, confidence, evidence } = options
  const tag = address !== undefined
  const ofEntities = { slug, description, notes }
  const ofAddresses = { address, entity, source, confidence, evidence }
  const misplacedOptions = Object.entries(tag ? ofEntities : ofAddresses).find(([, value]) => value !== undefined)
  if (misplacedOptions) {
    throw new CommandFailure(
      'labels.options',
      `--${misplacedOptions[0]} is not for ${tag ? 'an address' : 'an entity'}${tag || misplacedOptions[0] === 'address' ? '' : '; name an address with --address'}.`,
    )
  }
  const given = Object.entries({ chain, name, ...(tag ? ofAddresses : ofEntities) })
  return { record: Object.fromEntries(given.filter(([, value]) => value !== undefined)), tag }
}

function checked<Patch>(read: PatchResult<Patch>): readonly Patch[] {
  if ('reason' in read) throw new CommandFailure('labels.invalid', `${read.reason}.`)
  return read
}

function wantChanges(changes: object): void {
  if (Object.keys(changes).length === 0) throw new CommandFailure('labels.options', 'Nothing to change was given.')
}

const chainList = (rows: readonly { readonly chain: string }[]): string[] => [
  ...new Set(rows.map(({ chain }) => chain)),
]

function printResult(options: CommonOptions, result: Readonly<Record<string, unknown>>): void {
  if (options.json) {
    printJson(result)
    return
  }
  const [[verb, count] = []] = Object.entries(result)
  const { slug, address, chains, addresses } = result
  if (count === 0) {
    print(`nothing changed: that is what ${slug ?? address} says already`)
    return
  }
  const also = addresses ? `, with ${addresses} tagged addresses` : ''
  print(`${verb} ${slug ?? address} on chain ${(chains as string[]).join(', ')} (${count})${also}`)
}
