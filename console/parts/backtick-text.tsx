// Shows text from the API contract. Names and values between backticks become code.
export const BacktickText = ({ text = '' }: { readonly text?: string | undefined }) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a fixed text have no other key
  text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
