;;; eglot-test.el --- Outrigger from Emacs: eglot as it comes -*- lexical-binding: t; coding: utf-8 -*-

;; OUTRIGGER_BIN=… emacs -Q --batch -l eglot-test.el
;;
;; With the few lines of outrigger.el, and no other support: a run is started by a command, its findings are Flymake's, one question is
;; answered in the minibuffer, one by a code action.  Ends with a line that counts the checks.

;;; Code:

(load (expand-file-name "support.el" (file-name-directory load-file-name)) nil t)
(require 'cl-lib)
(require 'eglot)
(require 'flymake)
(add-to-list 'load-path (file-name-directory load-file-name))
(require 'outrigger)

(setq eglot-sync-connect 30
      eglot-connect-timeout 30
      eglot-autoshutdown t
      eglot-confirm-server-initiated-edits nil
      test-idle (lambda ()
                  (when (eglot-managed-p)
                    (eglot--signal-textDocument/didChange))))

(defun test-diagnostic (text)
  "The Flymake diagnostic of this buffer that has TEXT."
  (cl-find-if (lambda (diagnostic)
                (string-match-p (regexp-quote text) (flymake-diagnostic-text diagnostic)))
              (flymake-diagnostics)))

(defun test-answer (prompt collection &rest _)
  "Answer PROMPT with the choice of COLLECTION that is meant; dismiss other questions."
  (push prompt test-asked)
  (if (string-match-p "Wie groß" prompt)
      (cl-find "drei" (all-completions "" collection) :test #'string=)
    (when (string-match-p "cannot go on" prompt)
      (princ (format "FAIL %s\n" prompt)))
    ;; What a person does with C-g; a batch Emacs would end by that.
    (jsonrpc-error "dismissed")))

(defun test-action (beginning end title)
  "Perform the code action with TITLE that is offered between BEGINNING and END."
  (let* ((actions (append (eglot-code-actions beginning end nil) nil))
         (action (cl-find-if (lambda (action)
                               (string-match-p (regexp-quote title) (plist-get action :title)))
                             actions)))
    (unless action
      (error "No action %S among %S" title (mapcar (lambda (each) (plist-get each :title)) actions)))
    (let ((command (plist-get action :command)))
      ;; A bare command has its name there; a code action has a command in it.
      (when (stringp command)
        (setq command action))
      (jsonrpc-request (eglot-current-server) :workspace/executeCommand
                       (list :command (plist-get command :command)
                             :arguments (plist-get command :arguments))))))

(define-derived-mode test-rust-mode prog-mode "Rust")
(add-to-list 'auto-mode-alist '("\\.rs\\'" . test-rust-mode))
(add-to-list 'eglot-server-programs `(test-rust-mode . (outrigger-server ,(getenv "OUTRIGGER_BIN") "lsp")))

(advice-add 'completing-read :override #'test-answer)
(find-file (concat test-root "src/lib.rs"))
(call-interactively #'eglot)
(test-wait "eglot manages the buffer" #'eglot-managed-p)
(flymake-mode 1)
(flymake-start)
(outrigger-run "größer" (test-script "eglot"))
(let ((finding (test-wait "the finding is Flymake's" (lambda () (test-diagnostic "mismatched types")))))
  (unless (string= "\"漢字\"" (buffer-substring (flymake-diagnostic-beg finding) (flymake-diagnostic-end finding)))
    (error "The finding is at %S"
           (buffer-substring (flymake-diagnostic-beg finding) (flymake-diagnostic-end finding))))
  (test-ok "the finding is exactly at the text that is wrong"))
(test-wait "the first question is asked in the minibuffer"
           (lambda () (cl-some (lambda (prompt) (string-match-p "Wie groß" prompt)) test-asked)))
(let ((question (test-wait "the second question is a diagnostic" (lambda () (test-diagnostic "Und wie schnell?")))))
  (test-action (flymake-diagnostic-beg question) (flymake-diagnostic-end question) "rasch"))
(test-wait "the question is gone" (lambda () (not (test-diagnostic "Und wie schnell?"))))
(test-wait "the finding is gone" (lambda () (not (test-diagnostic "mismatched types"))))
(let ((expected (replace-regexp-in-string "    1\n" "    3\n" test-lib)))
  (test-wait "the buffer has the edit" (lambda () (string= expected (buffer-string))))
  (test-wait "the file has the edit"
             (lambda () (string= expected (test-read (concat test-root "src/lib.rs"))))))
(when (or (buffer-modified-p) (not (verify-visited-file-modtime)))
  (error "The buffer and the file have parted"))
(eglot-shutdown (eglot-current-server))
(princ (format "%d passed, 0 failed\n" test-passed))

;;; eglot-test.el ends here
