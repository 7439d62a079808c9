// `tetrad keys …`: creates, lists, changes and revokes API keys, and shows their usage. It writes only the state, so it
// works next to a running server, which applies changes to the next request (other servers of one PostgreSQL: within a second).
import { type Command, InvalidArgumentError, Option } from 'commander'
import { keyView, oldSecretUntilMsOf, rotatedKeyView, stateOf } from '#admin/key-view.ts'
import { type Group, groups, type Plan, plans } from '#api/contract/routes.ts'
import type { NewKeyReply } from '#shared/console-calls.ts'
import type { KeyChange, KeyInfo } from '#storage/keys.ts'
import { withState } from './data.ts'
import { CommandFailure, UsageFailure, withOptionNames } from './failure.ts'
import { integerBetween } from './parse-integer.ts'
import { momentOf, parseFutureTime } from './parse-time.ts'
import { counted, minuteText, note, print, printJson, printResult, table } from './print.ts'
import { clock, random } from './runtime.ts'
import type { CommonOptions } from './settings.ts'

interface CreateOptions extends CommonOptions {
  readonly name: string
  readonly plan: Plan
  readonly groups?: readonly Group[]
  readonly expires?: string
  readonly admin?: boolean
}

/** Options that are not given stay unchanged. */
type EditOptions = Partial<Omit<CreateOptions, 'groups'>> & { readonly groups?: readonly Group[] | 'all' }

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys: create, list, rotate, edit, revoke, usage.')

  keys
    .command('create')
    .description('Create a key. It is shown once and stored only as a hash.')
    .requiredOption('--name <name>', 'name of the owner')
    .addOption(new Option('--plan <plan>', 'plan: permissions and limits').choices(plans).makeOptionMandatory())
    .option('--groups <list>', `allowed interfaces: ${groups.join(', ')} (default: all)`, parseGroups)
    .option('--admin', 'also allow administrative calls, such as pushing a rate')
    .option('--expires <when>', 'expiry: 90d, 12h, 2027-01-31 (default: never)')
    .action((_: unknown, command: Command) => create(command.optsWithGlobals()))

  keys
    .command('list')
    .description('List all keys, including revoked and expired ones.')
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()))

  keys
    .command('rotate')
    .description('Replace the secret of a key. It is shown once; the old one stops working. Id, plan and usage stay.')
    .argument('<id>', 'id of the key, see: tetrad keys list')
    .option('--overlap <when>', 'the old secret works until then, at most 90 days: 24h, 7d, 2027-01-31')
    .option('--restore', 'reactivate a revoked key')
    .action((id: string, _: unknown, command: Command) => rotate(id, command.optsWithGlobals()))

  keys
    .command('edit')
    .description('Change a key. Its id and secret stay, and so does everything you do not name.')
    .argument('<id>', 'id of the key, see: tetrad keys list')
    .option('--name <name>', 'name of the owner')
    .addOption(new Option('--plan <plan>', 'plan: permissions and limits').choices(plans))
    .option('--groups <list>', `allowed interfaces: ${groups.join(', ')}, or "all"`, parseGroupsOrAll)
    .option('--admin', 'also allow administrative calls')
    .option('--no-admin', 'do not allow administrative calls')
    .option('--expires <when>', 'expiry: 90d, 12h, 2027-01-31, or "never"')
    .action((id: string, _: unknown, command: Command) => edit(id, command.optsWithGlobals()))

  keys
    .command('revoke')
    .description('Revoke a key immediately. Its record and usage stay.')
    .argument('<id>', 'id of the key, see: tetrad keys list')
    .action((id: string, _: unknown, command: Command) => revoke(id, command.optsWithGlobals()))

  keys
    .command('usage')
    .description('Show calls by UTC day and key.')
    .argument('[id]', 'only this key; "anonymous" for calls without a key')
    .option('--days <n>', 'number of days, including today', integerBetween(1, 400), 30)
    .action((id: string | undefined, _: unknown, command: Command) => usage(id, command.optsWithGlobals()))
}

async function create(options: CreateOptions): Promise<void> {
  const { name, plan, groups: allowed, admin, expires } = options
  const expiresAtMs = expires === undefined ? undefined : momentOf(expires, clock.now())
  const { createKey } = await import('#storage/keys.ts')
  const newKey = { name, plan, groups: allowed, admin, expiresAtMs }
  const created = await withState(options, 'made', (state) => createKey(state, newKey, clock, random))
  printKeyOnce(created, options)
}

function printKeyOnce(created: NewKeyReply, options: CommonOptions): void {
  printResult(options, created, `id   ${created.id}\nkey  ${created.key}`)
  if (!options.json) note('Save the key now. It is not stored and cannot be shown again.')
}

async function rotate(id: string, options: CommonOptions & { restore?: boolean; overlap?: string }): Promise<void> {
  const { rotateKey } = await import('#storage/keys.ts')
  const { overlap, restore = false } = options
  const oldSecretUntilMs = overlap === undefined ? undefined : parseFutureTime(overlap, clock.now(), '--overlap')
  const input = { id, restore, oldSecretUntilMs }
  const names = { restore: '--restore', oldSecretUntil: '--overlap', expires: 'The expiry' }
  const rotated = await withState(options, 'found', (state) => rotateKey(state, input, clock, random)).catch(
    (error: unknown) => {
      throw withOptionNames(error, names)
    },
  )
  if (!rotated) throw unknownKey(id)
  printKeyOnce(rotatedKeyView(rotated), options)
  if (!options.json && oldSecretUntilMs !== undefined)
    note(`The old secret works until ${minuteText(oldSecretUntilMs)} UTC.`)
}

async function edit(id: string, options: EditOptions): Promise<void> {
  const { editKey, findKey } = await import('#storage/keys.ts')
  const change = changeOf(options, clock.now())
  if (Object.values(change).every((value) => value === undefined)) {
    throw new UsageFailure(
      'key.nothing_to_change',
      'Nothing to change: pass at least one option. See: tetrad keys edit --help',
    )
  }
  const edited = await withState(options, 'found', async (state) =>
    (await editKey(state, id, change, clock)) ? findKey(state, id) : undefined,
  )
  if (!edited) throw unknownKey(id)
  printResult(options, keyView(edited, clock.now()), `Changed key ${id}. See: tetrad keys list`)
}

function changeOf({ name, plan, groups: allowed, admin, expires }: EditOptions, nowMs: number): KeyChange {
  const givenMs = expires === undefined || expires === 'never' ? undefined : momentOf(expires, nowMs)
  const expiresAtMs = expires === 'never' ? null : givenMs
  return { name, plan, admin, groups: allowed === 'all' ? null : allowed, expiresAtMs }
}

async function list(options: CommonOptions): Promise<void> {
  const { listKeys } = await import('#storage/keys.ts')
  const keys = await withState(options, 'found', listKeys)
  const nowMs = clock.now()
  if (options.json) return printJson(keys.map((key) => keyView(key, nowMs)))
  if (keys.length === 0) return note('No keys yet. Create one: tetrad keys create --name … --plan …')
  const rows = keys.map((key) => [
    ...[key.id, key.name, key.plan, groupsText(key)],
    ...[stateOf(key, nowMs), minuteText(key.createdAtMs), minuteText(key.expiresAtMs), minuteText(key.lastUsedAtMs)],
    minuteText(oldSecretUntilMsOf(key, nowMs)),
  ])
  print(
    table([...['id', 'name', 'plan', 'groups', 'state', 'created', 'expires', 'last used'], 'old secret until'], rows),
  )
}

async function revoke(id: string, options: CommonOptions): Promise<void> {
  const { revokeKey } = await import('#storage/keys.ts')
  if (!(await withState(options, 'found', (state) => revokeKey(state, id, clock)))) throw unknownKey(id)
  printResult(options, { id, revoked: true }, `Revoked key ${id}.`)
}

async function usage(id: string | undefined, options: CommonOptions & { days: number }): Promise<void> {
  const [{ anonymousId, findKey }, { usageOf }] = await Promise.all([
    import('#storage/keys.ts'),
    import('#storage/usage.ts'),
  ])
  const days = await withState(options, 'found', async (state) => {
    if (id !== undefined && id !== anonymousId && !(await findKey(state, id))) throw unknownKey(id)
    return usageOf(state, { keyId: id, days: options.days, nowMs: clock.now() })
  })
  if (options.json) return printJson(days)
  if (days.length === 0) return note(`No calls in the last ${counted(options.days, 'day')}.`)
  const rows = days.flatMap(({ day, keyId, endpoints }) =>
    Object.entries(endpoints).map(([endpoint, { accepted, refused }]) => [
      ...[day, keyId, endpoint, String(accepted), String(refused['limit.second']), String(refused['limit.day'])],
      String(refused['plan.too_low'] + refused['key.group']),
    ]),
  )
  print(table(['day', 'key', 'endpoint', 'accepted', 'over/second', 'over/day', 'not allowed'], rows))
}

const groupsText = ({ groups: allowed, admin }: KeyInfo): string =>
  `${allowed.length === groups.length ? 'all' : allowed.join(',')}${admin ? ' +admin' : ''}`

const unknownKey = (id: string) => new CommandFailure('key.unknown', `Key ${id} does not exist. See: tetrad keys list`)

function parseGroups(text: string): Group[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !groups.includes(name as Group))
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of ${groups.join(', ')}.`)
  return names as Group[]
}

const parseGroupsOrAll = (text: string): Group[] | 'all' => (text.trim() === 'all' ? 'all' : parseGroups(text))
