// How the operator signs in.
export const SignInHelp = () => (
  <>
    Run <code>tetrad console link</code> on the server and open the link.
  </>
)
