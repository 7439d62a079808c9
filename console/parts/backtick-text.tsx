// Words of the contract, in which names and values stand between backticks.
export const Prose = ({ text = '' }: { readonly text?: string | undefined }) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other name, and do not move
  text.split('`').map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))
