// An endpoint of group B beyond the specification: check the signature of a quote, and explain what is wrong with it.
import { Address, DateTime, endpoint, Hash, nullable, oneOf, PatternText, type Static, Text, Type } from '../kit.ts'
import { exampleId, ownQuoteNote, quoteId } from './fx-extensions.ts'

export const SignatureFinding = Type.Object({
  field: Type.String({
    description: 'The field, such as `message.permitted.amount`, `domain.chainId`, `types` or `signature.v`.',
  }),
  message: { ...Text, description: 'What is wrong.' },
  expected: Type.Optional(Type.String({ description: 'The value in the quote.' })),
  found: Type.Optional(Type.String({ description: 'The value that was signed.' })),
})
export type SignatureFinding = Static<typeof SignatureFinding>

export const ChainFinding = Type.Object({
  name: oneOf(['node', 'contract', 'signature', 'balance', 'allowance', 'nonce'], { description: 'What was checked.' }),
  ok: Type.Boolean({ description: 'Whether the check passed.' }),
  message: { ...Text, description: 'The result of the check in words.' },
})
export type ChainFinding = Static<typeof ChainFinding>

export const SignatureDiagnosis = Type.Object({
  verdict: oneOf(['good', 'bad', 'unknown'], {
    description:
      '`unknown`: the request names no signer; compare `signer` with the address you expect. Or the signature has the form of ERC-6492, which Permit2 refuses; the finding names what to deploy first. Or the signer is a contract, and the node did not run its check to the end.',
  }),
  signer: nullable({ ...Address, description: 'The signer, assuming that this quote was signed.' }),
  digest: { ...Hash, description: 'The digest to sign.' },
  findings: Type.Array(SignatureFinding, { description: 'Problems, most likely cause first.' }),
  deadline: { ...DateTime, description: 'The permit cannot be used after this time.' },
  deadlinePassed: Type.Boolean({ description: 'Whether `deadline` has passed.' }),
  expired: Type.Boolean({ description: 'The quote has expired.' }),
  chain: Type.Array(ChainFinding, {
    description: 'Checks against a node; empty without `fx.rpcUrl`.',
  }),
})
export type SignatureDiagnosis = Static<typeof SignatureDiagnosis>

export const checkSignature = endpoint('fx.checkSignature', {
  summary: 'Check the signature of a quote and explain why it is wrong.',
  notes:
    'With `signer`, one wrong field is found from the signature alone. With `typedData`, every difference is listed. With a node (`fx.rpcUrl`), balance, allowance and nonce are checked as well. Changes nothing.',
  input: Type.Object({
    id: quoteId,
    signature: PatternText('^0x([0-9a-fA-F]{2})*$', 'be 0x and hexadecimal bytes of two digits each', {
      maxLength: 32_768,
      description: 'The signature from the wallet.',
    }),
    signer: Type.Optional({ ...Address, description: 'The expected signer.' }),
    typedData: Type.Optional(
      Type.Unsafe<object>({ type: 'object', description: 'The typed data that the wallet signed.' }),
    ),
  }),
  reply: SignatureDiagnosis,
  faults: ['record.not_found', 'fx.checks_full', 'body.too_large', 'body.type', 'body.invalid_json'],
  example: {
    needs: `${ownQuoteNote} The quote must be tradable. The signature of this example is not valid.`,
    input: {
      ...exampleId,
      signature: `0x${'5c'.repeat(64)}1b`,
      signer: '0x5555555555555555555555555555555555555555',
    },
    reply: {
      verdict: 'bad',
      signer: '0x6666666666666666666666666666666666666666',
      digest: `0x${'d1'.repeat(32)}`,
      findings: [
        {
          field: 'domain.chainId',
          message: 'was signed for another chain',
          expected: '1',
          found: '137',
        },
      ],
      deadline: '2026-11-15T10:30:00.000Z',
      deadlinePassed: false,
      expired: false,
      chain: [{ name: 'allowance', ok: false, message: 'Permit2 may take 0 of the token, 1000000000 is needed' }],
    },
  },
})
