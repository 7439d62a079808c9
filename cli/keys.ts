// `tetrad keys …`: make, list, change and revoke keys, and see what they were used for. Opens the state store alone, so it works
// beside a running server, which sees the change at its next request.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { keyView, stateOf } from '#admin/key-view.ts'
import { type Group, groups, type Plan, plans } from '#api/routes.ts'
import type { KeyChange, KeyInfo } from '#storage/keys.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { momentOf } from './parse-time.ts'
import { minuteText, note, print, printJson, table } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface CreateOptions extends CommonOptions {
  readonly name: string
  readonly plan: Plan
  readonly groups?: readonly Group[]
  readonly expires?: string
  readonly admin?: boolean
}

/** What is named is changed; the rest stays. */
interface EditOptions extends CommonOptions {
  readonly name?: string
  readonly plan?: Plan
  readonly groups?: readonly Group[] | 'all'
  readonly expires?: string
  readonly admin?: boolean
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys: create, list, rotate, edit, revoke, usage.')

  keys
    .command('create')
    .description('Create a key. It is shown once and stored only as a hash.')
    .requiredOption('--name <name>', 'whose key it is, for people')
    .addOption(new Option('--plan <plan>', 'what it may do, and how often').choices(plans).makeOptionMandatory())
    .option('--groups <list>', `interfaces it may use: ${groups.join(', ')} (default: all)`, groupList)
    .option('--admin', 'it may also make calls that change what everybody is answered, such as pushing a rate')
    .option('--expires <when>', 'when it stops working: 90d, 12h, 2027-01-31 (default: never)')
    .addHelpText(
      'after',
      '\nExample:\n  $ tetrad keys create --name ci --plan standard --groups explorer,fx --expires 90d',
    )
    .action((_: unknown, command: Command) => create(command.optsWithGlobals()))

  keys
    .command('list')
    .description('List all keys, revoked and expired ones too.')
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()))

  keys
    .command('rotate')
    .description(
      'Give a key a new secret, shown once; the old one is refused at once. Id, plan, usage and quotes stay.',
    )
    .argument('<id>', 'the id that list shows')
    .option('--restore', 'also a key that was revoked: with the new secret it works again')
    .action((id: string, _: unknown, command: Command) => rotate(id, command.optsWithGlobals()))

  keys
    .command('edit')
    .description('Change what a key may do. Its id and its secret stay; what is not named stays as it is.')
    .argument('<id>', 'the id that list shows')
    .option('--name <name>', 'whose key it is, for people')
    .addOption(new Option('--plan <plan>', 'what it may do, and how often').choices(plans))
    .option('--groups <list>', `interfaces it may use: ${groups.join(', ')}, or "all"`, groupListOrAll)
    .option('--admin', 'it may also make calls that change what everybody is answered')
    .option('--no-admin', 'it may not')
    .option('--expires <when>', 'when it stops working: 90d, 12h, 2027-01-31, or "never"')
    .addHelpText('after', '\nExample:\n  $ tetrad keys edit 3f9c2a51d07be846 --plan enterprise --expires never')
    .action((id: string, _: unknown, command: Command) => edit(id, command.optsWithGlobals()))

  keys
    .command('revoke')
    .description('Revoke a key at once. Its record and its usage stay.')
    .argument('<id>', 'the id that list shows')
    .action((id: string, _: unknown, command: Command) => revoke(id, command.optsWithGlobals()))

  keys
    .command('usage')
    .description('Calls by UTC day and key, from the counters that enforce the limits.')
    .argument('[id]', 'only this key; "anonymous" for calls without one')
    .option('--days <n>', 'how many days, today included', parseDays, 30)
    .action((id: string | undefined, _: unknown, command: Command) => usage(id, command.optsWithGlobals()))
}

async function create(options: CreateOptions): Promise<void> {
  const { systemClock, systemRandom } = await loadClockAndRandom()
  const expiresAtMs = options.expires === undefined ? undefined : momentOf(options.expires, systemClock.now())
  const { createKey } = await import('#storage/keys.ts')
  const { id, key } = await withState(options, 'made', (state) =>
    createKey(
      state,
      {
        name: options.name,
        plan: options.plan,
        ...(options.groups && { groups: options.groups }),
        ...(options.admin && { admin: true }),
        ...(expiresAtMs !== undefined && { expiresAtMs }),
      },
      systemClock,
      systemRandom,
    ),
  )
  printKeyOnce({ id, key }, options)
}

function printKeyOnce({ id, key }: { readonly id: string; readonly key: string }, { json }: CommonOptions): void {
  if (json) {
    printJson({ id, key })
    return
  }
  print(`id   ${id}\nkey  ${key}`)
  note('Keep the key now: it is not stored and cannot be shown again.')
}

async function rotate(id: string, options: CommonOptions & { restore?: boolean }): Promise<void> {
  const { systemClock, systemRandom } = await loadClockAndRandom()
  const { rotateKey } = await import('#storage/keys.ts')
  const wanted = { id, ...(options.restore && { restore: true }) }
  const made = await withState(options, 'found', (state) => rotateKey(state, wanted, systemClock, systemRandom))
  if (!made) throw unknownKey(id)
  printKeyOnce(made, options)
}

async function edit(id: string, options: EditOptions): Promise<void> {
  const { systemClock } = await loadClockAndRandom()
  const { editKey, findKey } = await import('#storage/keys.ts')
  const change = changeOf(options, systemClock.now())
  if (Object.keys(change).length === 0) {
    throw new CommandFailure('key.unchanged', 'Nothing is named that should change; see: tetrad keys edit --help.')
  }
  const found = await withState(options, 'found', async (state) =>
    (await editKey(state, id, change, systemClock)) ? findKey(state, id) : undefined,
  )
  if (!found) throw unknownKey(id)
  if (options.json) printJson(keyView(found, systemClock.now()))
  else print(`The key ${id} is changed; see: tetrad keys list.`)
}

function changeOf({ name, plan, groups: allowed, admin, expires }: EditOptions, nowMs: number): KeyChange {
  return {
    ...(name !== undefined && { name }),
    ...(plan !== undefined && { plan }),
    ...(allowed !== undefined && { groups: allowed === 'all' ? null : allowed }),
    ...(admin !== undefined && { admin }),
    ...(expires !== undefined && { expiresAtMs: expires === 'never' ? null : momentOf(expires, nowMs) }),
  }
}

async function list(options: CommonOptions): Promise<void> {
  const { systemClock } = await loadClockAndRandom()
  const { listKeys } = await import('#storage/keys.ts')
  const found = await withState(options, 'found', listKeys)
  const nowMs = systemClock.now()
  if (options.json) return printJson(found.map((key) => keyView(key, nowMs)))
  if (found.length === 0) return note('There are no keys yet; make one with: tetrad keys create --name … --plan …')
  const rows = found.map((key) => [
    ...[key.id, key.name, key.plan, groupsText(key)],
    ...[stateOf(key, nowMs), minuteText(key.createdAtMs), minuteText(key.expiresAtMs), minuteText(key.lastUsedAtMs)],
  ])
  print(table(['id', 'name', 'plan', 'groups', 'state', 'created', 'expires', 'last used'], rows))
}

async function revoke(id: string, options: CommonOptions): Promise<void> {
  const { systemClock } = await loadClockAndRandom()
  const { revokeKey } = await import('#storage/keys.ts')
  if (!(await withState(options, 'found', (state) => revokeKey(state, id, systemClock)))) throw unknownKey(id)
  if (options.json) printJson({ id, revoked: true })
  else print(`The key ${id} is revoked.`)
}

async function usage(id: string | undefined, options: CommonOptions & { days: number }): Promise<void> {
  const { systemClock } = await loadClockAndRandom()
  const [{ anonymousId, findKey }, { usageOf }] = await Promise.all([
    import('#storage/keys.ts'),
    import('#storage/usage.ts'),
  ])
  const found = await withState(options, 'found', async (state) => {
    if (id !== undefined && id !== anonymousId && !(await findKey(state, id))) throw unknownKey(id)
    return usageOf(state, { keyId: id, days: options.days, nowMs: systemClock.now() })
  })
  if (options.json) return printJson(found)
  if (found.length === 0) return note(`No calls in the last ${options.days} days.`)
  const rows = found.flatMap(({ day, keyId, endpoints }) =>
    Object.entries(endpoints).map(([endpoint, { admitted, refused }]) => [
      ...[day, keyId, endpoint, String(admitted), String(refused['limit.second']), String(refused['limit.day'])],
      String(refused['plan.too_low'] + refused['key.group']),
    ]),
  )
  print(table(['day', 'key', 'endpoint', 'admitted', 'over/second', 'over/day', 'not allowed'], rows))
}

async function loadClockAndRandom() {
  const [{ systemClock }, { systemRandom }] = await Promise.all([
    import('#runtime/clock.ts'),
    import('#runtime/random.ts'),
  ])
  return { systemClock, systemRandom }
}

const groupsText = ({ groups: allowed, admin }: KeyInfo): string =>
  `${allowed.length === groups.length ? 'all' : allowed.join(',')}${admin ? ' +admin' : ''}`

const unknownKey = (id: string) => new CommandFailure('key.unknown', `There is no key ${id}; see: tetrad keys list.`)

function groupList(text: string): Group[] {
  const named = text.split(',').map((name) => name.trim())
  const unknown = named.find((name) => !groups.includes(name as Group))
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${groups.join(', ')}.`)
  return named as Group[]
}

const groupListOrAll = (text: string): Group[] | 'all' => (text.trim() === 'all' ? 'all' : groupList(text))

function parseDays(text: string): number {
  const days = Number(text)
  if (!Number.isInteger(days) || days < 1 || days > 400) throw new InvalidArgumentError('It must be 1 to 400.')
  return days
}
