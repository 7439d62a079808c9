// The commands of `tetrad fx` about signatures: the server's signature on a receipt, and a taker's on a quote.
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { SettlementInput } from '#fx/extensions/signature-check/settlement.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { note, print, printJson, printResult } from './print.ts'
import { clock, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const fileBytesMax = 1_048_576

export function addSigned(fx: Command): void {
  fx.command('receipt')
    .description('Print the signed receipt of a quote, which shows how it was priced.')
    .argument('<id>', 'id of the quote')
    .action((id: string, _: unknown, command: Command) => receipt(id, command.optsWithGlobals()))

  fx.command('rotate-receipt-key')
    .description('Create a new key that signs receipts from now on. Earlier receipts stay valid under the old key.')
    .action((_: unknown, command: Command) => rotateKey(command.optsWithGlobals()))

  fx.command('verify-receipt')
    .description('Check a receipt offline: its signature and every step of the price.')
    .argument('<file>', 'the receipt, as the server returned it')
    .option(
      '--public-key <key>',
      'a published key of the server; repeat for several. Without it, any key is accepted',
      (key: string, before: readonly string[] = []) => [...before, key],
    )
    .option('--quote <file>', 'the quote, byte for byte, to check that the receipt belongs to it')
    .action((file: string, _: unknown, command: Command) => verifyReceipt(file, command.optsWithGlobals()))

  fx.command('check-signature')
    .description('Check a signature over a quote: whether it is valid, who made it, and which field is wrong.')
    .argument('<quote>', 'a file with the quote, or the id of a quote in the data folder')
    .requiredOption('--signature <hex>', 'as returned by the wallet')
    .option('--signer <address>', 'the expected signer')
    .option('--signed <file>', 'the typed data that the wallet signed, to list every difference')
    .option('--rpc-url <url>', 'a node, to check balance, allowance and nonce (default: fx.rpcUrl)')
    .action((quote: string, _: unknown, command: Command) => checkSignature(quote, command.optsWithGlobals()))
}

async function receipt(id: string, options: CommonOptions): Promise<void> {
  const { readReceipt } = await import('#fx/extensions/receipts/receipt.ts')
  const signed = await withState(options, 'found', (state) => readReceipt(state, id))
  if (!signed) throw unknownQuote(id)
  printResult(options, signed, stringifyJson(signed, 2))
}

async function rotateKey(options: CommonOptions): Promise<void> {
  const { readPublicKeys } = await import('#fx/extensions/receipts/receipt-key.ts')
  const { rotateReceiptKey } = await import('#fx/receipts/receipt-key.ts')
  const { createFxCaches } = await import('#fx/context.ts')
  const keys = await withState(options, 'found', async (state) => {
    const context = { state, clock, random, fx: createFxCaches() }
    await rotateReceiptKey(context)
    return readPublicKeys(context)
  })
  if (options.json) return printJson(keys)
  print(keys.publicKey)
  note('This key signs from now on. Publish it. Earlier keys stay at /v1/exchange/fx/receipt-key.')
}

async function verifyReceipt(
  file: string,
  options: CommonOptions & { publicKey?: readonly string[]; quote?: string },
): Promise<void> {
  const { checkReceipt } = await import('#fx/extensions/receipts/check-receipt.ts')
  const document = await readJson(file)
  const reply = options.quote === undefined ? undefined : withoutLineEnd(await readBytes(options.quote))
  const checks = checkReceipt(document, { publicKeys: options.publicKey, reply })
  const good = checks.every(({ ok }) => ok)
  if (options.json) printJson({ good, checks })
  else for (const { name, ok, message } of checks) print(`${ok ? 'ok ' : 'NO '} ${name}: ${message}`)
  if (!good) throw new CommandFailure('receipt.invalid', 'The receipt is not valid.')
  if (options.publicKey === undefined) {
    note('The key was taken from the receipt itself. Pass --public-key to check who signed it.')
  }
}

/** `tetrad fx quote ID > file` adds a line end. */
const withoutLineEnd = (bytes: Uint8Array): Uint8Array => (bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes)

interface CheckOptions extends CommonOptions {
  readonly signature: string
  readonly signer?: string
  readonly signed?: string
  readonly rpcUrl?: string
}

async function checkSignature(fileOrId: string, options: CheckOptions): Promise<void> {
  const { examineSignature } = await import('#fx/extensions/signature-check/check-signature.ts')
  const { readSettlement } = await import('#fx/extensions/signature-check/settlement.ts')
  if (options.signer !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(options.signer)) {
    throw new CommandFailure('signer.unreadable', '--signer must be 0x followed by 40 hexadecimal digits.')
  }
  const quote = await loadQuote(fileOrId, options)
  const signed = options.signed === undefined ? undefined : await readJson(options.signed)
  const { fx } = (await configOf(options)).settings
  const { signature, signer, rpcUrl: url = fx.rpcUrl } = options
  let failure: string | undefined
  const reportFailure = (reason: string) => {
    failure = reason
  }
  const node = { url, gasMax: fx.rpcGasMax, clock, reportFailure }
  const readChain = url === '' ? undefined : (input: SettlementInput) => readSettlement(node, input)
  const diagnosis = await examineSignature(quote, { signature, signer, signed }, clock, readChain)
  if (options.json) printJson(diagnosis)
  else {
    const signerText = diagnosis.signer === null ? 'no signer can be recovered' : `recovered signer ${diagnosis.signer}`
    print(`${diagnosis.verdict}: ${signerText}`)
    for (const { field, message, expected, found } of diagnosis.findings) {
      const values = [expected && `expected ${expected}`, found && `found ${found}`].filter(Boolean).join(', ')
      print(`  ${field} ${message}${values ? ` (${values})` : ''}`)
    }
    print(`  permit deadline ${diagnosis.deadline}${diagnosis.deadlinePassed ? ', passed' : ''}`)
    if (diagnosis.expired) print('  the quote has expired')
    for (const { name, ok, message } of diagnosis.chain) print(`  ${ok ? 'ok' : 'NO'} ${name}: ${message}`)
  }
  const isChecked = diagnosis.verdict !== 'unknown' || diagnosis.findings.length === 0
  const isValid = diagnosis.verdict !== 'bad' && isChecked && !diagnosis.deadlinePassed
  if (isValid && failure !== undefined) {
    const isUnread = diagnosis.chain.some(({ name }) => name === 'node')
    const unchecked = isUnread ? 'Balance, allowance and nonce were' : 'The signature was'
    throw new CommandFailure('node.unavailable', `${unchecked} not checked: ${failure}.`)
  }
  const wouldSettle = isValid && diagnosis.chain.every(({ ok }) => ok)
  if (!wouldSettle) throw new CommandFailure('signature.invalid', 'The quote would not settle with this signature.')
}

async function loadQuote(fileOrId: string, options: CommonOptions): Promise<Quote> {
  if (!uuid.test(fileOrId)) return validateQuote(await readJson(fileOrId), fileOrId)
  const { readQuote } = await import('#fx/pricing/quotes.ts')
  const stored = await withState(options, 'found', (state) => readQuote(state, fileOrId))
  if (!stored) throw unknownQuote(fileOrId)
  return parseJson(new TextDecoder().decode(stored.reply)) as Quote
}

async function validateQuote(value: unknown, file: string): Promise<Quote> {
  const [{ checker }, { Quote: schema }] = await Promise.all([
    import('#core/schema-check.ts'),
    import('#api/contract/wire/fx.ts'),
  ])
  // The validator does not support bigint. Amounts are checked when they are hashed.
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
      throw new CommandFailure('file.large', `${file} is larger than ${fileBytesMax} bytes.`)
    return bytes
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure('file.unreadable', `Cannot read ${file} (${(error as NodeJS.ErrnoException).code}).`)
  }
}

async function readJson(file: string): Promise<unknown> {
  const text = new TextDecoder().decode(await readBytes(file))
  try {
    return parseJson(text)
  } catch {
    throw new CommandFailure('file.not_json', `${file} is not JSON.`)
  }
}

export const unknownQuote = (id: string) =>
  new CommandFailure('quote.unknown', `There is no quote ${id} in this data folder. Choose another with --data.`)
