// The commands of `tetrad fx` that are about signatures: the server's over a receipt, and a taker's over a quote.
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { parseJson, stringifyJson } from '#api/json.ts'
import type { Quote } from '#api/wire/fx.ts'
import type { KeyContext } from '#fx/receipts/receipt-key.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { note, print, printJson } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const fileBytesMax = 1_048_576

export function addSigned(fx: Command): void {
  fx.command('receipt')
    .description('The signed receipt of a quote: how it was priced.')
    .argument('<id>', 'the id of the quote')
    .action((id: string, _: unknown, command: Command) => receipt(id, command.optsWithGlobals()))

  fx.command('receipt-key')
    .description(
      'The public key that receipts of this data folder are signed with; with --json also those used before.',
    )
    .action((_: unknown, command: Command) => receiptKey(command.optsWithGlobals()))

  fx.command('rotate-receipt-key')
    .description('Make a new key that signs receipts from now on. Receipts signed before stay good under the old one.')
    .action((_: unknown, command: Command) => rotateKey(command.optsWithGlobals()))

  fx.command('verify-receipt')
    .description('Check a receipt without the server: its signature, and every step of the price.')
    .argument('<file>', 'the receipt, as the server answered it')
    .option(
      '--public-key <key>',
      'the server’s key as it was published, again for each it has had; without it anyone may have signed',
      (key: string, before: readonly string[] = []) => [...before, key],
    )
    .option('--quote <file>', 'the quote’s reply, byte for byte, to see that the receipt is about it')
    .action((file: string, _: unknown, command: Command) => verifyReceipt(file, command.optsWithGlobals()))

  fx.command('check-signature')
    .description(
      'Say whether a signature over a quote is good, who made it, and if it is not good, which field differs.',
    )
    .argument('<quote>', 'a file with the quote, or the id of a quote in the data folder')
    .requiredOption('--signature <hex>', 'as the wallet gave it')
    .option('--signer <address>', 'who should have signed')
    .option('--signed <file>', 'the typed data that the wallet was given, to list every difference')
    .option('--rpc-url <url>', 'a node, to see balance, allowance and nonce (default: fx.rpcUrl)')
    .action((quote: string, _: unknown, command: Command) => checkSignature(quote, command.optsWithGlobals()))
}

async function receipt(id: string, options: CommonOptions): Promise<void> {
  const { readReceipt: storedReceipt } = await import('#fx/endpoints/receipt.ts')
  const signed = await withState(options, 'found', (state) => storedReceipt(state, id))
  if (!signed) throw unknownQuote(id)
  if (options.json) printJson(signed)
  else print(stringifyJson(signed, 2))
}

async function receiptKey(options: CommonOptions): Promise<void> {
  const { readPublicKeys: publicKeys } = await import('#fx/receipts/receipt-key.ts')
  const shown = await withKeys(options, publicKeys)
  if (options.json) printJson(shown)
  else print(shown.publicKey)
}

async function rotateKey(options: CommonOptions): Promise<void> {
  const { readPublicKeys: publicKeys, rotateReceiptKey } = await import('#fx/receipts/receipt-key.ts')
  const shown = await withKeys(options, async (context) => {
    await rotateReceiptKey(context)
    return publicKeys(context)
  })
  if (options.json) return printJson(shown)
  print(shown.publicKey)
  note('From now on this key signs. Publish it; the old ones stay at /v1/exchange/fx/receipt-key.')
}

async function withKeys<T>(options: CommonOptions, work: (context: KeyContext) => Promise<T>): Promise<T> {
  const [{ createFxCaches }, { systemClock }, { systemRandom }] = await Promise.all([
    import('#fx/context.ts'),
    import('#runtime/clock.ts'),
    import('#runtime/random.ts'),
  ])
  return withState(options, 'found', (state) =>
    work({ state, clock: systemClock, random: systemRandom, fx: createFxCaches() }),
  )
}

async function verifyReceipt(
  file: string,
  options: CommonOptions & { publicKey?: readonly string[]; quote?: string },
): Promise<void> {
  const { checkReceipt } = await import('#fx/receipts/check-receipt.ts')
  const document = parseFile(new TextDecoder().decode(await readBytes(file)), file)
  const reply = options.quote === undefined ? undefined : withoutLineEnd(await readBytes(options.quote))
  const checks = checkReceipt(document, { publicKeys: options.publicKey, reply })
  const good = checks.every(({ ok }) => ok)
  if (options.json) printJson({ good, checks })
  else for (const { name, ok, message } of checks) print(`${ok ? 'ok ' : 'NO '} ${name}: ${message}`)
  if (!good) throw new CommandFailure('receipt.bad', 'The receipt is not good.')
  if (options.publicKey === undefined) {
    note('The key was taken from the receipt itself: give --public-key to know whose it is.')
  }
}

/** What `tetrad fx quote ID > file` adds. */
const withoutLineEnd = (bytes: Uint8Array): Uint8Array => (bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes)

interface CheckOptions extends CommonOptions {
  readonly signature: string
  readonly signer?: string
  readonly signed?: string
  readonly rpcUrl?: string
}

async function checkSignature(fileOrId: string, options: CheckOptions): Promise<void> {
  const [{ examineSignature: examine }, { systemClock }] = await Promise.all([
    import('#fx/endpoints/check-signature.ts'),
    import('#runtime/clock.ts'),
  ])
  if (options.signer !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(options.signer)) {
    throw new CommandFailure('signer.unreadable', '--signer must be 0x and 40 hexadecimal digits.')
  }
  const quote = await quoteAt(fileOrId, options)
  const signed =
    options.signed === undefined
      ? undefined
      : parseFile(new TextDecoder().decode(await readBytes(options.signed)), options.signed)
  const rpcUrl = options.rpcUrl ?? (await configOf(options)).settings.fx.rpcUrl
  const { signature, signer } = options
  const diagnosis = await examine(quote, { signature, signer, signed }, rpcUrl, systemClock)
  if (options.json) printJson(diagnosis)
  else {
    print(
      `${diagnosis.verdict}: ${diagnosis.signer === null ? 'no signer can be told' : `signed by ${diagnosis.signer}, if over this quote`}`,
    )
    for (const { field, message, expected, found } of diagnosis.findings) {
      const values = [expected && `expected ${expected}`, found && `found ${found}`].filter(Boolean).join(', ')
      print(`  ${field} ${message}${values ? ` (${values})` : ''}`)
    }
    print(`  the permit can be used until ${diagnosis.deadline}${diagnosis.deadlinePassed ? ', which has passed' : ''}`)
    if (diagnosis.expired) print('  the quote itself has expired')
    for (const { name, ok, message } of diagnosis.chain) print(`  ${ok ? 'ok' : 'NO'} ${name}: ${message}`)
  }
  const wouldSettle = diagnosis.verdict !== 'bad' && !diagnosis.deadlinePassed && diagnosis.chain.every(({ ok }) => ok)
  if (!wouldSettle) throw new CommandFailure('signature.bad', 'It would not settle as it is.')
}

async function quoteAt(fileOrId: string, options: CommonOptions): Promise<Quote> {
  if (!uuid.test(fileOrId))
    return checkedQuote(parseFile(new TextDecoder().decode(await readBytes(fileOrId)), fileOrId), fileOrId)
  const { readQuote: storedQuote } = await import('#fx/pricing/quotes.ts')
  const found = await withState(options, 'found', (state) => storedQuote(state, fileOrId))
  if (!found) throw unknownQuote(fileOrId)
  return parseJson(new TextDecoder().decode(found.reply)) as Quote
}

async function checkedQuote(value: unknown, file: string): Promise<Quote> {
  const [{ checker }, { Quote: schema }] = await Promise.all([
    import('#core/schema-check.ts'),
    import('#api/wire/fx.ts'),
  ])
  // The validator knows no bigint; amounts are checked where they are hashed.
  const plain = JSON.parse(JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? 0 : member)))
  const [problem] = checker(schema)(plain)
  if (problem)
    throw new CommandFailure('quote.unreadable', `${file} is not a quote: ${problem.at.join('.')} ${problem.message}.`)
  return value as Quote
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    const bytes = await readFile(file)
    if (bytes.length > fileBytesMax)
      throw new CommandFailure('file.large', `${file} has more than ${fileBytesMax} bytes.`)
    return bytes
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure('file.unreadable', `${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function parseFile(text: string, file: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new CommandFailure('file.not_json', `${file} is not JSON.`)
  }
}

const unknownQuote = (id: string) =>
  new CommandFailure('quote.unknown', `There is no quote ${id} in this data folder; name it with --data.`)
