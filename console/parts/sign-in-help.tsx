// How the operator signs in.
export const SignInHelp = () => (
  <>
    Run <code>tetrad console link</code> on the server and open the link. A server that is started in a terminal also
    prints one.
  </>
)
