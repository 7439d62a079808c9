// `tetrad console …`: prints a one-time sign-in link for the operator pages of the console, and ends sessions. A
// running server sees the change immediately (behaviour/operations.md#console-sign-in).
import type { Command } from 'commander'
import type { SessionContext } from '#admin/sessions.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { withState } from './data.ts'
import { counted, minuteText, note, print, printJson, printResult } from './print.ts'
import { clock, random } from './runtime.ts'
import { addressOf, type CommonOptions, configOf } from './settings.ts'

export function addConsole(program: Command): void {
  const group = program.command('console').description('Sign in to the console as the operator.')
  group
    .command('link')
    .description('Print a sign-in link. It works once, within 15 minutes.')
    .option('--url <url>', 'URL of the server (default: its public URL, or as for tetrad ask)')
    .action((_: unknown, command: Command) => link(command.optsWithGlobals()))
  group
    .command('sign-out')
    .description('End all sessions and revoke all links.')
    .action((_: unknown, command: Command) => signOut(command.optsWithGlobals()))
}

async function link(options: CommonOptions & { url?: string }): Promise<void> {
  const [{ createLink }, { loadProvenTime }] = await Promise.all([
    import('#admin/sessions.ts'),
    import('#operations/proven-time/keep-proven-time.ts'),
  ])
  const { settings } = await configOf(options)
  const hasPublicUrl = options.url === undefined && settings.server.publicUrl !== ''
  const base = hasPublicUrl ? settings.server.publicUrl : await addressOf(options)
  const { token, expiresAtMs } = await withState(options, 'found', async (state) => {
    const provenTime = new ProvenTime(clock)
    await loadProvenTime({ state, provenTime })
    return createLink({ state, clock, provenTime, random })
  })
  if (options.json) return printJson({ url: signInUrl(base, token), expiresAt: new Date(expiresAtMs).toISOString() })
  print(signInUrl(base, token))
  note(`It works once, until ${minuteText(expiresAtMs)} UTC. Anyone who has the link can sign in as the operator.`)
  if (!settings.console.enabled) note('The console is disabled (console.enabled), so the link does not work.')
}

async function signOut(options: CommonOptions): Promise<void> {
  const { signOutAll } = await import('#admin/sessions.ts')
  const ended = await withState(options, 'found', (state) => signOutAll({ state }))
  printResult(options, { ended }, `Ended ${counted(ended, 'session')}.`)
}

/** Browsers do not send what follows `#`, so the token is in no request, log or referrer. */
const signInUrl = (base: string, token: string): string => `${base.replace(/\/$/, '')}/#/sign-in/${token}`

export async function linkFor(context: SessionContext, base: string): Promise<string> {
  const { createLink } = await import('#admin/sessions.ts')
  return signInUrl(base, (await createLink(context)).token)
}
