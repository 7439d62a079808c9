// `tetrad console …`: a fresh one-time link into the operator's side of the console, and the end of all sessions. Works
// beside a running server, which knows of it at once (behaviour/operations.md#console-sign-in).
import type { Command } from 'commander'
import type { SessionContext } from '#admin/sessions.ts'
import { withState } from './data.ts'
import { queryServer } from './data-owner.ts'
import { minuteText, note, print, printJson } from './print.ts'
import { addressOf, type CommonOptions, configOf } from './settings.ts'

export function addConsole(program: Command): void {
  const group = program.command('console').description('Sign in to the console as the operator.')
  group
    .command('link')
    .description('Print a link that signs in whoever opens it: once, within 15 minutes.')
    .option('--url <url>', 'address of the server (default: its public URL, or where it listens)')
    .action((_: unknown, command: Command) => link(command.optsWithGlobals()))
  group
    .command('sign-out')
    .description('End every session at once and void every link.')
    .action((_: unknown, command: Command) => signOut(command.optsWithGlobals()))
}

async function link(options: CommonOptions & { url?: string }): Promise<void> {
  const [{ createLink }, { systemClock: clock }, { systemRandom: random }] = await Promise.all([
    import('#admin/sessions.ts'),
    import('#runtime/clock.ts'),
    import('#runtime/random.ts'),
  ])
  const { settings } = await configOf(options)
  const base = options.url ?? (settings.server.publicUrl || (await listeningAt(options)) || (await addressOf(options)))
  const { token, expiresAtMs } = await withState(options, 'found', (state) => createLink({ state, clock, random }))
  if (options.json) return printJson({ url: signInUrl(base, token), expiresAt: new Date(expiresAtMs).toISOString() })
  print(signInUrl(base, token))
  note(`It works once, until ${minuteText(expiresAtMs)} UTC. Whoever opens it is the operator.`)
  if (!settings.console.on) note('The console is switched off (console.on), so there is no page to open it with.')
}

/** It may listen elsewhere than the configuration says: a flag or a variable of its own is known to it alone. */
async function listeningAt(options: CommonOptions): Promise<string | undefined> {
  return (await queryServer<{ url?: string }>(options, 'status'))?.result.url
}

async function signOut(options: CommonOptions): Promise<void> {
  const { signOutAll } = await import('#admin/sessions.ts')
  const ended = await withState(options, 'found', (state) => signOutAll({ state }))
  if (options.json) return printJson({ ended })
  print(ended === 1 ? 'One session has ended.' : `${ended} sessions have ended.`)
}

/** After the `#`, a browser keeps it to itself: it is in no request, no log and no referrer. */
const signInUrl = (base: string, token: string): string => `${base.replace(/\/$/, '')}/#/sign-in/${token}`

/** A link to the server that has just been started here. */
export async function linkFor(context: SessionContext, base: string): Promise<string> {
  const { createLink } = await import('#admin/sessions.ts')
  return signInUrl(base, (await createLink(context)).token)
}
